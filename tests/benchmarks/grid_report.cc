// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/grid_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace convolve::benchmarks {
namespace {

constexpr double kChoicePart = 0.1;
constexpr double kChoiceMicroseconds = 0.5;
constexpr double kPredictionPart = 0.3;

/// The cells of one format and size: what one table shows.
using Picture = std::pair<std::string, std::string>;
Picture picture_of(const GridCell& cell) {
  return {cell.chosen.format, cell.chosen.size};
}

/// "1.04", or "-" for nothing.
std::string ratio(double a, double b) {
  return number(a / b, 2);
}

void print_picture(const Picture& picture, const std::vector<GridCell>& cells, std::FILE* out) {
  std::fprintf(out,
               "\n### %s %s\n\n| mask | K | chosen | us | best | us | chosen / best | predicted "
               "us | predicted / measured |\n|---|---:|---|---:|---|---:|---:|---:|---:|\n",
               picture.first.c_str(), picture.second.c_str());
  for (const GridCell& cell : cells) {
    if (picture_of(cell) != picture) continue;
    const FrameRow& row = cell.chosen;
    const FrameRow& best = cell.best();
    std::fprintf(out, "| %s | %d | %s | %.2f | %s | %.2f | %s | %s | %s |\n", row.kind.c_str(),
                 row.side, cell.kernel.c_str(), row.time.median, best.kernel.c_str(),
                 best.time.median, ratio(row.time.median, best.time.median).c_str(),
                 number(row.predicted, 2).c_str(), ratio(row.predicted, row.time.median).c_str());
  }
}

/// "GRAY8 4k box 31: tensor; tensor 55.1 us, predicted 53.3; separable ...".
void print_offender(const GridCell& cell, std::FILE* out) {
  const FrameRow& row = cell.chosen;
  std::fprintf(out, "- %s %s %s %d: chosen %s, %.2f us", row.format.c_str(), row.size.c_str(),
               row.kind.c_str(), row.side, cell.kernel.c_str(), row.time.median);
  for (const FrameRow& forced : cell.forced)
    if (forced.served)
      std::fprintf(out, "; %s %.2f us, predicted %s", forced.kernel.c_str(), forced.time.median,
                   number(forced.predicted, 2).c_str());
  std::fprintf(out, "\n");
}

template <class Offends>
void print_offenders(const std::vector<GridCell>& cells, const char* what, Offends&& offends,
                     std::FILE* out) {
  const auto count = std::count_if(cells.begin(), cells.end(), offends);
  std::fprintf(out, "\n%td of %zu cells: %s.\n", count, cells.size(), what);
  for (const GridCell& cell : cells)
    if (offends(cell)) print_offender(cell, out);
}

}  // namespace

bool GridCell::chosen_badly() const {
  return worse_choice(chosen.time.median, best().time.median);
}

bool GridCell::predicted_badly() const {
  return bad_prediction(chosen.predicted, chosen.time.median);
}

const FrameRow& GridCell::best() const {
  const FrameRow* best = nullptr;
  for (const FrameRow& row : forced)
    if (row.served && (best == nullptr || row.time.median < best->time.median)) best = &row;
  return best == nullptr ? chosen : *best;
}

bool worse_choice(double us, double best_us) {
  return us > (1 + kChoicePart) * best_us && us > best_us + kChoiceMicroseconds;
}

bool bad_prediction(double predicted_us, double us) {
  return predicted_us > 0 && std::fabs(predicted_us / us - 1) > kPredictionPart;
}

void print_markdown(const Setting& setting, const std::vector<GridCell>& cells, std::FILE* out) {
  print_setting(setting, out);
  std::fprintf(
      out,
      "What kernel=auto chooses and predicts, against the kernels that it chooses from, each "
      "in every form that serves. What is predicted to take more than three times as long "
      "is not measured. Cold, medians of batches; every result was checked before its "
      "time counted.\n");
  for (const Picture& picture : distinct_of(cells, picture_of))
    print_picture(picture, cells, out);
  const auto worse = [](const GridCell& cell) { return cell.chosen_badly(); };
  const auto off = [](const GridCell& cell) { return cell.predicted_badly(); };
  print_offenders(cells, "the choice is more than 10 % and 0.5 us above the best kernel", worse,
                  out);
  print_offenders(cells, "the prediction is more than 30 % off", off, out);
  const auto part = [&](auto&& offends) {
    const auto count = static_cast<double>(std::max<std::size_t>(1, cells.size()));
    return 100 -
           100 * static_cast<double>(std::count_if(cells.begin(), cells.end(), offends)) / count;
  };
  std::fprintf(out,
               "\nfigure: %zu cells, choice within 10 %% or 0.5 us of the best in %.1f %%, "
               "prediction within 30 %% in %.1f %%\n",
               cells.size(), part(worse), part(off));
}

void print_json_lines(const Setting& setting, const std::vector<GridCell>& cells, std::FILE* out) {
  for (const GridCell& cell : cells) {
    const FrameRow& row = cell.chosen;
    const FrameRow& best = cell.best();
    std::fprintf(
        out,
        "{\"backend\":%s,\"device\":%s,\"commit\":%s,\"format\":%s,\"size\":%s,\"kind\":%s,"
        "\"side\":%d,\"chosen\":%s,\"us\":%.4f,\"predicted_us\":%.4f,\"best\":%s,\"best_us\":%.4f,"
        "\"worse_choice\":%s,\"bad_prediction\":%s,\"kernels\":{",
        quoted(setting.backend).c_str(), quoted(setting.device).c_str(),
        quoted(setting.commit).c_str(), quoted(row.format).c_str(), quoted(row.size).c_str(),
        quoted(row.kind).c_str(), row.side, quoted(cell.kernel).c_str(), row.time.median,
        row.predicted, quoted(best.kernel).c_str(), best.time.median,
        cell.chosen_badly() ? "true" : "false", cell.predicted_badly() ? "true" : "false");
    const char* comma = "";
    for (const FrameRow& forced : cell.forced) {
      std::fprintf(out, "%s%s:{", comma, quoted(forced.kernel).c_str());
      if (forced.served) std::fprintf(out, "\"us\":%.4f,", forced.time.median);
      std::fprintf(out, "\"predicted_us\":%.4f}", forced.predicted);
      comma = ",";
    }
    std::fprintf(out, "}}\n");
  }
}

}  // namespace convolve::benchmarks
