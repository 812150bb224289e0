import ArgumentParser

/// A size as a command-line argument: `10KiB`, `512MiB`, `1GiB`, or a number of bytes.
package struct ByteSize: ExpressibleByArgument {
    package var bytes: Int64

    package init(bytes: Int64) { self.bytes = bytes }

    package init?(argument: String) {
        let digits = argument.prefix(while: \.isNumber)
        let factors: [String: Int64] = ["": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30]
        guard let number = Int64(digits), let factor = factors[String(argument.dropFirst(digits.count))] else {
            return nil
        }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
        guard !overflow, bytes > 0 else { return nil }
        self.bytes = bytes
    }
}
