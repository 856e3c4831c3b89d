// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/report.h"

namespace convolve::benchmarks {
namespace {

const Row* find(const std::vector<Row>& rows, const std::string& picture, int side,
                KernelKind kernel) {
  for (const Row& row : rows)
    if (row.picture == picture && row.side == side && row.kernel == kernel && row.served)
      return &row;
  return nullptr;
}

void print_summary(const std::vector<Row>& rows, const std::string& picture, std::FILE* out) {
  const std::vector<int> sides = distinct_of(rows, &Row::side);
  std::fprintf(out, "\n### %s, one 8-bit plane: microseconds a frame\n\n| kernel |",
               picture.c_str());
  for (const int side : sides)
    std::fprintf(out, " %dx%d |", side, side);
  std::fprintf(out, "\n|---|");
  for (std::size_t k = 0; k < sides.size(); ++k)
    std::fprintf(out, "---:|");
  std::fprintf(out, "\n");
  for (const KernelKind kernel : distinct_of(rows, &Row::kernel)) {
    std::fprintf(out, "| %s |", kernel_info(kernel).nick);
    for (const int side : sides) {
      const Row* row = find(rows, picture, side, kernel);
      std::fprintf(out, " %s |", row != nullptr ? number(row->time.median, 1).c_str() : "-");
    }
    std::fprintf(out, "\n");
  }
}

void print_details(const std::vector<Row>& rows, const std::string& picture, std::FILE* out) {
  std::fprintf(out,
               "\n### %s: against copy, FP32 floor and the chapter's argument\n\n"
               "| K | kernel | us | p10 - p90 | copy us | x copy | floor us | %% of FMA rate | "
               "loads cut, predicted | counted | faster than basic | plan |\n"
               "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n",
               picture.c_str());
  for (const Row& row : rows) {
    if (row.picture != picture) continue;
    if (!row.served) {
      std::fprintf(out, "| %d | %s | - | - | - | - | - | - | - | - | - | %s |\n", row.side,
                   kernel_info(row.kernel).nick, row.plan.c_str());
      continue;
    }
    const Row* basic = find(rows, picture, row.side, KernelKind::kBasic);
    std::fprintf(
        out, "| %d | %s | %.2f | %.2f - %.2f | %.2f | %.2f | %s | %s | %s | %s | %s | %s |\n",
        row.side, kernel_info(row.kernel).nick, row.time.median, row.time.p10, row.time.p90,
        row.copy.median, row.time.median / row.copy.median, number(row.floor, 2).c_str(),
        number(100 * row.floor / row.time.median, 1).c_str(),
        number(row.predicted_reduction, 1).c_str(), number(row.counted_reduction, 1).c_str(),
        basic != nullptr ? number(basic->time.median / row.time.median, 2).c_str() : "-",
        row.plan.c_str());
  }
}

}  // namespace

void print_setting(const Setting& setting, std::FILE* out) {
  std::fprintf(out, "Backend %s on %s, commit %s.\n", setting.backend.c_str(),
               setting.device.c_str(), setting.commit.c_str());
  if (setting.fma_rate > 0)
    std::fprintf(out, "FP32 rate measured in this run: %.2f T multiply-adds a second.\n",
                 setting.fma_rate * 1e-12);
}

void print_markdown(const Setting& setting, const std::vector<Row>& rows, std::FILE* out) {
  print_setting(setting, out);
  std::fprintf(out,
               "Cold: buffers rotate over at least twice the L2. Medians of batches; copy is one "
               "1D copy of the plane's bytes, sampled beside each batch. Every result was compared "
               "with the exact reference before its time counted.\n");
  for (const std::string& picture : distinct_of(rows, &Row::picture)) {
    print_summary(rows, picture, out);
    print_details(rows, picture, out);
  }
}

void print_json_lines(const Setting& setting, const std::vector<Row>& rows, std::FILE* out) {
  for (const Row& row : rows)
    std::fprintf(
        out,
        "{\"backend\":%s,\"device\":%s,\"commit\":%s,\"fma_per_second\":%.6g,\"picture\":%s,"
        "\"width\":%d,\"height\":%d,\"side\":%d,\"kernel\":%s,\"served\":%s,\"us\":%.4f,"
        "\"us_p10\":%.4f,\"us_p90\":%.4f,\"copy_us\":%.4f,\"floor_us\":%.4f,"
        "\"predicted_reduction\":%.4f,\"counted_reduction\":%.4f,\"plan\":%s}\n",
        quoted(setting.backend).c_str(), quoted(setting.device).c_str(),
        quoted(setting.commit).c_str(), setting.fma_rate, quoted(row.picture).c_str(), row.width,
        row.height, row.side, quoted(kernel_info(row.kernel).nick).c_str(),
        row.served ? "true" : "false", row.time.median, row.time.p10, row.time.p90, row.copy.median,
        row.floor, row.predicted_reduction, row.counted_reduction, quoted(row.plan).c_str());
}

}  // namespace convolve::benchmarks
