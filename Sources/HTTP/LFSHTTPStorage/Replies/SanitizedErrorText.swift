import LFSSystem

/// Sanitizes text from a server for messages: it becomes short, one line, without URL queries and without secrets.
package enum SanitizedErrorText {
    /// Returns a server's explanation, at most 200 characters.
    ///
    /// - Parameter secrets: texts that must not be shown.
    package static func explanation(_ text: String, hiding secrets: [String] = []) -> String {
        cut(withoutQueries(hide(secrets, in: printable(text))), to: 200)
    }

    /// Returns the beginning of an unexpected text, at most 80 characters, without possible tokens.
    ///
    /// - Parameter secrets: texts that must not be shown.
    package static func excerpt(_ text: String, hiding secrets: [String] = []) -> String {
        cut(withoutTokens(withoutQueries(hide(secrets, in: printable(text)))), to: 80)
    }

    /// Returns the beginning of an unexpected body, at most 80 characters.
    package static func excerpt(_ body: [UInt8], hiding secrets: [String] = []) -> String {
        excerpt(String(decoding: body.prefix(400), as: UTF8.self), hiding: secrets)
    }

    /// Replaces each run of spaces and invisible characters by one space. Invisible are control characters and
    /// formatting characters, such as those that change the text direction.
    private static func printable(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .privateUse,
                .unassigned:
                if let last = result.last, last != " " { result.append(" ") }
            default: result.append(scalar)
            }
        }
        if result.last == " " { result.removeLast() }
        return String(result)
    }

    private static func hide(_ secrets: [String], in text: String) -> String {
        var text = text
        // Compares bytes, because a combining mark after the secret would change its last character.
        for secret in secrets where !secret.isEmpty {
            var result: [UInt8] = []
            var rest = Array(text.utf8)[...]
            while let found = rest.firstRange(of: Array(secret.utf8)) {
                result += rest[..<found.lowerBound] + Array("…".utf8)
                rest = rest[found.upperBound...]
            }
            text = String(decoding: result + rest, as: UTF8.self)
        }
        return text
    }

    /// Cuts words at a possible query, and leaves out words with a parameter of a signed URL.
    private static func withoutQueries(_ text: String) -> String {
        text.utf8.split(separator: UInt8(ascii: " ")).map { word in
            if let mark = queryMark(in: Array(word)) { return String(decoding: word.prefix(mark), as: UTF8.self) + "…" }
            let word = String(Substring(word))
            let lowercased = word.lowercased()
            let isSigned = ["x-amz-", "signature", "awsaccesskeyid"].contains { lowercased.contains($0) }
            return isSigned && word.utf8.contains(UInt8(ascii: "=")) ? "…" : word
        }
        .joined(separator: " ")
    }

    /// Replaces runs of more than 32 base64 characters, because a page may repeat a token of the request.
    private static func withoutTokens(_ text: String) -> String {
        var result: [UInt8] = []
        var run: [UInt8] = []
        for byte in Array(text.utf8) + [UInt8(ascii: " ")] {
            if isBase64(byte) {
                run.append(byte)
                continue
            }
            result += run.count > 32 ? Array("…".utf8) : run
            result.append(byte)
            run = []
        }
        return String(decoding: result.dropLast(), as: UTF8.self)
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "+/=_-".utf8.contains(byte)
    }

    /// Returns the index of a `?` that may begin a query: text follows it, and it is not part of an XML declaration.
    private static func queryMark(in word: [UInt8]) -> Int? {
        word.indices.first { index in
            word[index] == UInt8(ascii: "?") && index + 1 < word.count && word[index + 1] != UInt8(ascii: ">")
                && (index == 0 || word[index - 1] != UInt8(ascii: "<"))
        }
    }

    private static func cut(_ text: String, to count: Int) -> String {
        text.count > count ? text.prefix(count - 1) + "…" : text
    }
}
