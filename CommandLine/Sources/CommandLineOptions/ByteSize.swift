public import ArgumentParser

/// A number of bytes on the command line: `1048576`, `512KiB`, `8MiB`, `1.5GiB`, `1TiB`. `K`, `M`, `G` and `T` also
/// mean powers of 1024.
public struct ByteSize: ExpressibleByArgument, Hashable, Sendable {
    /// The number of bytes, from 0 to 9e18.
    public let bytes: Int64

    private static let units: [String: Double] = [
        "": 1, "b": 1, "k": 1_024, "kib": 1_024, "m": 1_048_576, "mib": 1_048_576, "g": 1_073_741_824,
        "gib": 1_073_741_824, "t": 1_099_511_627_776,
        "tib": 1_099_511_627_776, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
    ]

    /// Parses a size. Nil for anything else, for a fraction of a byte and for more than 8 EiB.
    public init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = argument.dropFirst(digits.count).drop { $0 == " " }.lowercased()
        guard let number = Double(digits), let factor = Self.units[unit] else { return nil }
        let value = (number * factor).rounded()
        guard value >= 1 || number == 0, value < 9e18 else { return nil }
        bytes = Int64(value)
    }

    /// Parses a size for an option.
    ///
    /// - Throws: `ValidationError`, with examples of sizes.
    @Sendable public static func parse(_ text: String) throws -> ByteSize {
        guard let size = ByteSize(argument: text) else {
            throw ValidationError("'\(text)' is not a size. Write for example 512KiB, 2MiB or 5GiB.")
        }
        return size
    }
}
