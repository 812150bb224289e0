import Foundation

/// Numbers in a readable form.
enum Words {
    static func bytes(_ count: Int64) -> String {
        let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)]
        for (unit, shift) in units where count >= 1 << shift {
            let tenths = count / (1 << (shift - 4)) * 10 / 16
            return "\(tenths / 10).\(tenths % 10) \(unit)"
        }
        return "\(count) bytes"
    }

    static func duration(_ seconds: TimeInterval) -> String {
        // Limit the duration, since a wrong clock could produce a value that does not fit.
        let minutes = Int(min(max(seconds, 0), 1e12)) / 60
        return minutes < 60 ? "\(minutes) min" : "\(minutes / 60) h \(minutes % 60) min"
    }

    static func count(_ number: Int, one: String, more: String) -> String {
        "\(number) \(number == 1 ? one : more)"
    }
}
