import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// A container's account, server and percent-encoded paths.
struct AzurePlace: Sendable {
    let account: String
    let origin: HTTPOrigin
    /// The prefix of every key, with a trailing slash. Empty without a prefix.
    let prefix: String
    let containerPath: String
    /// The path of the account's blob service.
    let servicePath: String
    private let container: String
    /// The path of every blob without its key.
    private let blobPath: String
    /// A text that is the same for all clients of this place.
    let location: String

    /// - Parameter endpoint: the URL of the account's blob service. nil uses Azure's public endpoint.
    /// - Throws: ``StorageError/Code/invalidRequest``.
    init(account: String, container: String, prefix: String, endpoint: URL?) throws(StorageError) {
        // "Storage account overview": 3 to 24 lowercase letters and digits. Emulators and private clouds allow more.
        guard Self.isName(account, in: 1...63) else {
            throw StorageError(
                .invalidRequest,
                message:
                    "'\(account.prefix(80))' is not the name of a storage account: use lowercase letters and digits.")
        }
        guard Self.isName(container, in: 3...63) || container == "$root" else {
            throw StorageError(
                .invalidRequest,
                message: """
                    '\(container.prefix(80))' is not the name of a container: use 3 to 63 lowercase letters, digits \
                    and '-'.
                    """
            )
        }
        let prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        let isPlain = prefix.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0 != "\\" }
        // Azure drops a dot at the end of a segment. A segment of dots only leads to another place.
        let segments = prefix.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        guard prefix.utf8.count <= 400, isPlain, segments.allSatisfy({ !$0.isEmpty && !$0.hasSuffix(".") }) else {
            throw StorageError(
                .invalidRequest,
                message: """
                    The prefix of the keys has more than 400 bytes, control characters, '\\', '//', or a dot at the \
                    end of a segment: choose another.
                    """)
        }
        let server = try Endpoint(endpoint ?? Self.azure(account))
        self.account = account
        self.prefix = prefix
        origin = server.origin
        servicePath = "\(server.path)/"
        self.container = container
        containerPath = "\(server.path)/\(PercentEncoding.path(container))"
        blobPath = "\(containerPath)/\(PercentEncoding.path(prefix))"
        location = "azure:\(server.origin.authority)\(server.path)/\(container)/\(prefix)"
    }

    /// Returns the path of a blob, or of the container itself. A key consists of characters that need no encoding.
    func path(of key: ObjectKey?) -> String { key.map { blobPath + $0.rawValue } ?? containerPath }

    /// Returns the canonicalized resource of a signature for a blob ("Create a service SAS"). It is not encoded.
    func signedName(of key: ObjectKey) -> String { "/blob/\(account)/\(container)/\(prefix)\(key.rawValue)" }

    /// Returns the URL of a blob without a query.
    func url(of key: ObjectKey) -> URL {
        URL(string: "\(origin)\(path(of: key))") ?? URL(fileURLWithPath: path(of: key))
    }

    /// Returns the key of a listed name. nil for a name that is not a key, or is outside of this place.
    func key(listed name: String) -> ObjectKey? {
        name.text(afterPrefix: prefix).flatMap { ObjectKey(listed: $0) }
    }

    static func azure(_ account: String) -> URL {
        var parts = URLComponents()
        parts.scheme = "https"
        parts.host = "\(account).blob.core.windows.net"
        return parts.url ?? URL(fileURLWithPath: "/")
    }

    private static func isName(_ text: String, in lengths: ClosedRange<Int>) -> Bool {
        lengths.contains(text.utf8.count) && !text.hasPrefix("-") && !text.hasSuffix("-")
            && text.utf8.allSatisfy { $0.isLowercaseLetter || $0.isDigit || $0 == UInt8(ascii: "-") }
    }
}
