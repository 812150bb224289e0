/// Paths on the command line.
extension FilePath {
    /// Returns arguments of the command with their exact bytes, in order. In Swift's arguments, bytes that are not
    /// valid text are replaced by U+FFFD.
    package static func arguments(_ texts: [String]) -> [FilePath] {
        guard texts.contains(where: hasLostBytes) else { return texts.map { FilePath($0) } }
        var raw = rawArguments()
        return texts.map { text in
            guard let index = raw.firstIndex(where: { $0.text == text }) else { return FilePath(text) }
            return raw.remove(at: index).path
        }
    }

    package init(argument text: String) { self = Self.arguments([text])[0] }

    /// Returns true if a text contains U+FFFD, which replaces invalid bytes.
    package static func hasLostBytes(_ text: String) -> Bool { text.unicodeScalars.contains("\u{FFFD}") }

    /// All arguments, and the values of arguments in the form `--name=value`.
    private static func rawArguments() -> [(text: String, path: FilePath)] {
        (0..<Int(CommandLine.argc)).dropFirst().flatMap { index -> [(text: String, path: FilePath)] in
            guard let start = CommandLine.unsafeArgv[index] else { return [] }
            var bytes: [UInt8] = []
            // Each argument ends with a zero byte.
            var next = start
            while next.pointee != 0 {
                bytes.append(UInt8(bitPattern: next.pointee))
                next += 1
            }
            var values = [bytes]
            if bytes.starts(with: "--".utf8), let sign = bytes.firstIndex(of: UInt8(ascii: "=")) {
                values.append(Array(bytes[(sign + 1)...]))
            }
            return values.map { (String(decoding: $0, as: UTF8.self), FilePath(bytes: $0)) }
        }
    }
}
