import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A failed system call.
struct SystemFailure: Error, CustomStringConvertible {
    let description: String
    let isMissing: Bool

    /// The failure of the last system call.
    static var last: SystemFailure {
        let code = errno
        return SystemFailure(description: String(cString: strerror(code)), isMissing: code == ENOENT)
    }

    /// A failure for a folder, a link or a pipe in the place of a file.
    static let notAFile = SystemFailure(description: "it is not a regular file", isMissing: false)
}

extension Error {
    /// The description of the error as part of a sentence, without a full stop.
    var sentence: String {
        switch self {
        case let error as DecodingError: error.sentence
        case let error as EncodingError:
            if case .invalidValue(_, let context) = error { context.debugDescription } else { "\(error)" }
        default: String("\(self)".trimmingSuffix(while: { $0 == "." || $0.isWhitespace }))
        }
    }
}

extension DecodingError {
    fileprivate var sentence: String {
        let context: Context
        switch self {
        case .keyNotFound(let key, _): return "'\(key.stringValue)' is missing"
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found): context = found
        @unknown default: return "\(self)"
        }
        let place = context.codingPath.last.map { "'\($0.stringValue)': " } ?? ""
        return place + context.debugDescription.trimmingSuffix(while: { $0 == "." })
    }
}

extension StringProtocol {
    fileprivate func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> String {
        var text = self[...]
        while let last = text.last, isTrimmed(last) { text.removeLast() }
        return String(text)
    }
}

/// Repeats a call that a signal has interrupted.
///
/// - Throws: ``SystemFailure`` if the call returns less than zero.
@discardableResult
func checked(_ call: () -> Int32) throws -> Int32 {
    while true {
        let result = call()
        if result >= 0 { return result }
        if errno != EINTR { throw SystemFailure.last }
    }
}
