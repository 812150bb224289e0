/// Numbers in a readable form.
package enum Format {
    /// Returns `10 KiB` or `1.5 MiB`, in powers of 1024.
    package static func bytes(_ count: Int64) -> String {
        var (value, unit) = (Double(count), 0)
        while value >= 1_024, unit < units.count - 1 {
            value /= 1_024
            unit += 1
        }
        return "\(decimal(value, places: value == value.rounded() ? 0 : 1)) \(units[unit])"
    }

    /// Returns `12,345`.
    package static func count(_ value: Int) -> String {
        var text = ""
        for (index, digit) in String(value).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    /// Returns `1 file` or `2,000 files`.
    package static func count(_ value: Int, noun: String) -> String {
        "\(count(value)) \(noun)\(value == 1 ? "" : "s")"
    }

    /// Formats a non-negative number with a number of decimals.
    package static func decimal(_ value: Double, places: Int) -> String {
        let scale = Int((0..<places).reduce(1) { scale, _ in scale * 10 })
        let scaled = Int((value * Double(scale)).rounded())
        guard places > 0 else { return String(scaled) }
        let rest = String(scaled % scale)
        return "\(scaled / scale).\(String(repeating: "0", count: places - rest.count))\(rest)"
    }

    private static let units = ["B", "KiB", "MiB", "GiB", "TiB"]
}
