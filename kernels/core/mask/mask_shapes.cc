// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/mask/mask_shapes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace convolve {
namespace {

constexpr double kPi = 3.14159265358979323846;

/// Extents this close to a pixel's edge end there: what rounding leaves of an exact fit.
constexpr double kEdgeSlack = 1e-9;

/// Radius of the smallest square of pixels that holds a shape reaching `extent` from the origin.
int pixel_radius(double extent) {
  return std::max(0, static_cast<int>(std::ceil(extent - 0.5 - kEdgeSlack)));
}

/// Area of the disk within 0 <= u <= x, 0 <= v <= y.
double disk_corner(double radius, double x, double y) {
  x = std::min(x, radius);
  y = std::min(y, radius);
  const double r2 = radius * radius;
  if (x * x + y * y <= r2) return x * y;
  const auto under_edge = [radius, r2](double u) {
    return (u * std::sqrt(std::max(0.0, r2 - u * u)) + r2 * std::asin(u / radius)) / 2;
  };
  // The edge lies above y up to here.
  const double flat = std::sqrt(std::max(0.0, r2 - y * y));
  return y * flat + under_edge(x) - under_edge(flat);
}

/// Area of the disk within the pixel around (x, y), 0 <= y <= x.
double disk_pixel(double radius, int x, int y) {
  const double left = x - 0.5, right = x + 0.5, top = y - 0.5, bottom = y + 0.5;
  if (right * right + bottom * bottom <= radius * radius) return 1;
  const double near_x = std::max(left, 0.0), near_y = std::max(top, 0.0);
  if (near_x * near_x + near_y * near_y >= radius * radius) return 0;
  // The corner function continues oddly to the other side of an axis.
  const auto corner = [radius](double u, double v) {
    const double area = disk_corner(radius, std::fabs(u), std::fabs(v));
    return (u < 0) != (v < 0) ? -area : area;
  };
  const double area =
      corner(right, bottom) - corner(left, bottom) - corner(right, top) + corner(left, top);
  return std::clamp(area, 0.0, 1.0);
}

struct Point {
  double x;
  double y;
};

/// The part of a convex polygon where normal . p <= limit (Sutherland and Hodgman's cut).
std::vector<Point> cut(const std::vector<Point>& polygon, Point normal, double limit) {
  std::vector<Point> kept;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point a = polygon[i], b = polygon[(i + 1) % polygon.size()];
    const double da = normal.x * a.x + normal.y * a.y - limit;
    const double db = normal.x * b.x + normal.y * b.y - limit;
    if (da <= 0) kept.push_back(a);
    if ((da < 0 && db > 0) || (da > 0 && db < 0)) {
      const double t = da / (da - db);
      kept.push_back({a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)});
    }
  }
  return kept;
}

double polygon_area(const std::vector<Point>& polygon) {
  double twice = 0;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point a = polygon[i], b = polygon[(i + 1) % polygon.size()];
    twice += a.x * b.y - b.x * a.y;
  }
  return std::fabs(twice) / 2;
}

/// Cosine and sine of an angle in degrees, exact at the multiples of 90.
Point direction(double degrees) {
  const double turn = std::remainder(degrees, 360);
  if (turn == 0) return {1, 0};
  if (std::fabs(turn) == 180) return {-1, 0};
  if (std::fabs(turn) == 90) return {0, turn > 0 ? 1.0 : -1.0};
  return {std::cos(turn * (kPi / 180)), std::sin(turn * (kPi / 180))};
}

}  // namespace

Coverage cover_disk(double radius) {
  Coverage cover;
  cover.radius = pixel_radius(radius);
  // Mirror images of a pixel are computed as the same one, so that the mask is symmetric to the
  // bit.
  for (int y = -cover.radius; y <= cover.radius; ++y)
    for (int x = -cover.radius; x <= cover.radius; ++x)
      cover.area.push_back(disk_pixel(radius, std::max(std::abs(x), std::abs(y)),
                                      std::min(std::abs(x), std::abs(y))));
  return cover;
}

Coverage cover_bar(double length, double degrees) {
  const Point turn = direction(degrees);
  const Point along = {turn.x * length / 2, -turn.y * length / 2};
  const Point across = {turn.y / 2, turn.x / 2};
  const std::vector<Point> bar = {{along.x + across.x, along.y + across.y},
                                  {across.x - along.x, across.y - along.y},
                                  {-along.x - across.x, -along.y - across.y},
                                  {along.x - across.x, along.y - across.y}};
  Coverage cover;
  cover.radius = pixel_radius(
      std::max(std::fabs(along.x) + std::fabs(across.x), std::fabs(along.y) + std::fabs(across.y)));
  for (int y = -cover.radius; y <= cover.radius; ++y) {
    const std::vector<Point> row = cut(cut(bar, {0, -1}, 0.5 - y), {0, 1}, y + 0.5);
    for (int x = -cover.radius; x <= cover.radius; ++x) {
      const double area = polygon_area(cut(cut(row, {-1, 0}, 0.5 - x), {1, 0}, x + 0.5));
      cover.area.push_back(area > kEdgeSlack ? area : 0);
    }
  }
  // A bar looks the same turned by 180 degrees; rounding shall not say otherwise.
  for (std::size_t i = 0, j = cover.area.size() - 1; i < j; ++i, --j)
    cover.area[j] = cover.area[i];
  return cover;
}

}  // namespace convolve
