// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/frame_report.h"

#include <utility>

namespace convolve::benchmarks {
namespace {

/// The rows of one format and size: what one table shows.
using Picture = std::pair<std::string, std::string>;
Picture picture_of(const FrameRow& row) {
  return {row.format, row.size};
}

/// The rows of one line of a table.
using Line = std::pair<std::string, std::string>;
Line line_of(const FrameRow& row) {
  return {row.kernel, row.kind};
}

const FrameRow* find(const std::vector<FrameRow>& rows, const Line& line, int side) {
  for (const FrameRow& row : rows)
    if (line_of(row) == line && row.side == side) return &row;
  return nullptr;
}

void print_summary(const std::vector<FrameRow>& rows, std::FILE* out) {
  const std::vector<int> sides = distinct_of(rows, &FrameRow::side);
  std::fprintf(out, "| kernel | mask |");
  for (const int side : sides)
    std::fprintf(out, " %dx%d |", side, side);
  std::fprintf(out, "\n|---|---|");
  for (std::size_t k = 0; k < sides.size(); ++k)
    std::fprintf(out, "---:|");
  std::fprintf(out, "\n");
  for (const Line& line : distinct_of(rows, line_of)) {
    std::fprintf(out, "| %s | %s |", line.first.c_str(), line.second.c_str());
    for (const int side : sides) {
      const FrameRow* row = find(rows, line, side);
      if (row != nullptr && row->served)
        std::fprintf(out, " %.1f (%.2f) |", row->time.median, row->time.median / row->copy.median);
      else
        std::fprintf(out, " - |");
    }
    std::fprintf(out, "\n");
  }
}

void print_details(const std::vector<FrameRow>& rows, std::FILE* out) {
  std::fprintf(out,
               "\n| K | kernel | mask | us | p10 - p90 | copy us | x copy | floor us | %% of FMA "
               "rate | plan |\n|---:|---|---|---:|---:|---:|---:|---:|---:|---|\n");
  for (const FrameRow& row : rows) {
    std::fprintf(out, "| %d | %s | %s |", row.side, row.kernel.c_str(), row.kind.c_str());
    if (row.served)
      std::fprintf(out, " %.2f | %.2f - %.2f | %.2f | %.2f | %s | %s |", row.time.median,
                   row.time.p10, row.time.p90, row.copy.median, row.time.median / row.copy.median,
                   number(row.floor, 2).c_str(),
                   number(100 * row.floor / row.time.median, 1).c_str());
    else
      std::fprintf(out, " - | - | - | - | - | - |");
    std::fprintf(out, " %s |\n", row.plan.c_str());
  }
}

}  // namespace

void print_markdown(const Setting& setting, const std::vector<FrameRow>& rows, std::FILE* out) {
  print_setting(setting, out);
  std::fprintf(out,
               "Whole frames that stay on the device. Cold: frames rotate over at least twice the "
               "L2. Medians of batches; copy is one 1D copy of the frame's bytes, sampled beside "
               "each batch. Sampled rows of every plane were compared with the exact reference "
               "before a time counted.\n");
  for (const Picture& picture : distinct_of(rows, picture_of)) {
    std::vector<FrameRow> shown;
    for (const FrameRow& row : rows)
      if (picture_of(row) == picture) shown.push_back(row);
    std::fprintf(out, "\n### %s %s: microseconds a frame (times a copy)\n\n", picture.first.c_str(),
                 picture.second.c_str());
    print_summary(shown, out);
    print_details(shown, out);
  }
}

void print_json_lines(const Setting& setting, const std::vector<FrameRow>& rows, std::FILE* out) {
  for (const FrameRow& row : rows)
    std::fprintf(out,
                 "{\"backend\":%s,\"device\":%s,\"commit\":%s,\"fma_per_second\":%.6g,"
                 "\"format\":%s,\"size\":%s,\"width\":%d,\"height\":%d,\"bytes\":%zu,\"samples\":%."
                 "0f,\"kind\":%s,"
                 "\"side\":%d,\"kernel\":%s,\"served\":%s,\"us\":%.4f,\"us_p10\":%.4f,"
                 "\"us_p90\":%.4f,\"copy_us\":%.4f,\"floor_us\":%.4f,"
                 "\"predicted_us\":%.4f,\"plan\":%s}\n",
                 quoted(setting.backend).c_str(), quoted(setting.device).c_str(),
                 quoted(setting.commit).c_str(), setting.fma_rate, quoted(row.format).c_str(),
                 quoted(row.size).c_str(), row.width, row.height, row.bytes, row.samples,
                 quoted(row.kind).c_str(), row.side, quoted(row.kernel).c_str(),
                 row.served ? "true" : "false", row.time.median, row.time.p10, row.time.p90,
                 row.copy.median, row.floor, row.predicted, quoted(row.plan).c_str());
}

}  // namespace convolve::benchmarks
