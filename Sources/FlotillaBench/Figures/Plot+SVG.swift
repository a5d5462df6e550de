import Foundation

/// How a plot is drawn: plain SVG, in colours that are read on a light page and on a dark one.
extension Plot {
  private static let size = (width: 720.0, height: 400.0)
  private static let frame = (left: 84.0, right: 40.0, top: 52.0, bottom: 60.0)
  /// Each series has a colour and a mark of its own, for who sees no colours.
  private static let colours = ["#2f81f7", "#d1741f", "#2f9e5b", "#a371f7"]

  var svg: String {
    let points = series.flatMap(\.points)
    let across = PlotScale(through: Array(Set(points.map(\.x))), isLogarithmic: x.isLogarithmic)
    let upwards = PlotScale(
      around: points.flatMap { [$0.low, $0.high] }, isLogarithmic: y.isLogarithmic)
    var lines = [
      """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" role="img" \
      font-family="system-ui, sans-serif" font-size="13">
      """,
      "<title>\(Self.escaped(title))</title>",
      """
      <style>text{fill:#57606a}.grid{stroke:#8c959f;stroke-opacity:.3}\
      @media(prefers-color-scheme:dark){text{fill:#adbac7}}</style>
      """,
      Self.text(title, Self.size.width / 2, 20, "middle", "font-size=\"15\""),
    ]
    lines += axes(across, upwards)
    for (number, one) in series.enumerated() { lines += drawn(one, number, across, upwards) }
    return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
  }

  private func axes(_ across: PlotScale, _ upwards: PlotScale) -> [String] {
    let (left, right) = (Self.frame.left, Self.size.width - Self.frame.right)
    let (top, bottom) = (Self.frame.top, Self.size.height - Self.frame.bottom)
    var lines: [String] = []
    for tick in upwards.ticks {
      let place = Self.number(Self.up(upwards.place(tick)))
      lines.append(
        "<line class=\"grid\" x1=\"\(Self.number(left))\" x2=\"\(Self.number(right))\" "
          + "y1=\"\(place)\" y2=\"\(place)\"/>")
      lines.append(
        Self.text(Report.grouped(tick), left - 8, Self.up(upwards.place(tick)) + 4, "end"))
    }
    for tick in across.ticks {
      let place = Self.right(across.place(tick))
      lines.append(
        "<line class=\"grid\" x1=\"\(Self.number(place))\" x2=\"\(Self.number(place))\" "
          + "y1=\"\(Self.number(top))\" y2=\"\(Self.number(bottom))\"/>")
      lines.append(Self.text(Report.grouped(tick), place, bottom + 20, "middle"))
    }
    lines.append(Self.text(x.label, (left + right) / 2, bottom + 44, "middle"))
    let middle = Self.number((top + bottom) / 2)
    lines.append(
      Self.text(y.label, 0, 0, "middle", "transform=\"translate(16 \(middle)) rotate(-90)\""))
    return lines
  }

  /// The line of a series, the range of each point, its mark, and its name above the picture.
  private func drawn(
    _ series: Series, _ number: Int, _ across: PlotScale, _ upwards: PlotScale
  ) -> [String] {
    let colour = Self.colours[number % Self.colours.count]
    func place(_ point: Point, _ value: Double) -> (Double, Double) {
      (Self.right(across.place(point.x)), Self.up(upwards.place(value)))
    }
    let points = series.points.sorted { $0.x < $1.x }.filter { $0.y.isFinite }
    let way = points.map { point in
      let (x, y) = place(point, point.y)
      return "\(Self.number(x)),\(Self.number(y))"
    }
    var lines = [
      "<polyline fill=\"none\" stroke=\"\(colour)\" stroke-width=\"2\" "
        + "points=\"\(way.joined(separator: " "))\"/>"
    ]
    for point in points {
      let ((x, low), (_, high)) = (place(point, point.low), place(point, point.high))
      if point.low < point.high {
        lines.append(
          "<line stroke=\"\(colour)\" stroke-opacity=\".5\" x1=\"\(Self.number(x))\" "
            + "x2=\"\(Self.number(x))\" y1=\"\(Self.number(low))\" y2=\"\(Self.number(high))\"/>")
      }
      lines.append(Self.mark(number, x, place(point, point.y).1, colour))
    }
    let key = Self.frame.left + Double(number) * 228
    lines.append(Self.mark(number, key + 6, 37, colour))
    lines.append(Self.text(series.name, key + 18, 41, "start"))
    return lines
  }

  /// A circle, a square or a diamond.
  private static func mark(_ number: Int, _ x: Double, _ y: Double, _ colour: String) -> String {
    switch number % 3 {
    case 0: "<circle cx=\"\(self.number(x))\" cy=\"\(self.number(y))\" r=\"4\" fill=\"\(colour)\"/>"
    case 1:
      "<rect x=\"\(self.number(x - 4))\" y=\"\(self.number(y - 4))\" width=\"8\" height=\"8\" "
        + "fill=\"\(colour)\"/>"
    default:
      "<path d=\"M\(self.number(x)) \(self.number(y - 5))l5 5-5 5-5-5z\" fill=\"\(colour)\"/>"
    }
  }

  private static func text(
    _ text: String, _ x: Double, _ y: Double, _ anchor: String, _ more: String = ""
  ) -> String {
    let place = "x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\""
    return "<text \(place)\(more.isEmpty ? "" : " \(more)")>\(escaped(text))</text>"
  }

  private static func right(_ place: Double) -> Double {
    frame.left + place * (size.width - frame.left - frame.right)
  }

  private static func up(_ place: Double) -> Double {
    size.height - frame.bottom - place * (size.height - frame.top - frame.bottom)
  }

  private static func number(_ value: Double) -> String {
    let tenths = (value * 10).rounded() / 10
    return tenths == tenths.rounded() ? "\(Int(tenths))" : "\(tenths)"
  }

  /// Signs of XML in a text are written out.
  static func escaped(_ text: String) -> String {
    var result = ""
    for sign in text.unicodeScalars {
      switch sign {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      default: result.unicodeScalars.append(sign)
      }
    }
    return result
  }
}
