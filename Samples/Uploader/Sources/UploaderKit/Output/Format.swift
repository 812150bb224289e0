import Foundation

/// Functions that format numbers for people.
package enum Format {
    /// Returns a size such as `1.2 GiB`, with at most three digits and powers of 1024.
    package static func bytes(_ count: Int64) -> String {
        var value = Double(count)
        var unit = 0
        while value >= 999.5, unit < units.count - 1 {
            value /= 1_024
            unit += 1
        }
        return "\(number(value, isWhole: unit == 0)) \(units[unit])"
    }

    /// Returns two sizes such as `1.2/8.4 GiB`, both in the unit of the larger one.
    package static func bytes(_ part: Int64, of whole: Int64) -> String {
        var divisor = 1.0
        var unit = 0
        while Double(whole) / divisor >= 999.5, unit < units.count - 1 {
            divisor *= 1_024
            unit += 1
        }
        let texts = [part, whole].map { number(Double($0) / divisor, isWhole: unit == 0) }
        return "\(texts[0])/\(texts[1]) \(units[unit])"
    }

    /// Returns a number such as `12,345`.
    package static func count(_ value: Int) -> String {
        var text = ""
        for (index, digit) in String(value).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    /// Returns a number with a noun, such as `1 file` or `2 files`.
    package static func count(_ value: Int, noun: String, plural: String? = nil) -> String {
        "\(count(value)) \(value == 1 ? noun : plural ?? noun + "s")"
    }

    /// Returns a text padded with spaces to a width.
    static func column(_ text: String, width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.utf8.count))
    }

    /// Returns the time since a date. Zero if the clock was set back.
    /// Returns the hour and the minute of a time in the time zone of the user, such as `22:01`.
    static func clock(_ date: Date) -> String {
        let parts = Calendar.current.dateComponents([.hour, .minute], from: date)
        let minute = parts.minute ?? 0
        return "\(parts.hour ?? 0):\(minute < 10 ? "0" : "")\(minute)"
    }

    static func time(since date: Date) -> String { time(max(0, Date().timeIntervalSince(date))) }

    /// Returns a time in its two largest units, such as `1m24s`.
    package static func time(_ seconds: Double) -> String {
        let whole = Int(saturating: seconds.rounded(.up))
        switch whole {
        case ..<60: return "\(whole)s"
        case ..<3_600: return "\(whole / 60)m\(whole % 60)s"
        case ..<86_400: return "\(whole / 3_600)h\(whole % 3_600 / 60)m"
        default: return "\(whole / 86_400)d\(whole % 86_400 / 3_600)h"
        }
    }

    /// Returns seconds with one decimal.
    package static func seconds(_ seconds: Double) -> String { number(seconds, isWhole: false) }

    private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]

    private static func number(_ value: Double, isWhole: Bool) -> String {
        if isWhole || value >= 99.95 { return String(Int(saturating: value)) }
        let tenths = Int(saturating: value * 10)
        return "\(tenths / 10).\(tenths % 10)"
    }
}
