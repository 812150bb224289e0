import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// A container of an account as it is reached: the server, and the paths below it, percent-encoded.
struct AzurePlace: Sendable {
    let account: String
    let origin: HTTPOrigin
    /// What stands before every key, with the slash at its end; empty for none.
    let prefix: String
    let containerPath: String
    /// The path of the account's blob service itself.
    let servicePath: String
    private let container: String
    /// The path of every blob without its key.
    private let blobPath: String
    /// The same for everybody who means this place.
    let location: String

    /// - Parameter endpoint: of the account's blob service; nil for Azure's own.
    /// - Throws: ``StorageError/Code/invalidRequest``.
    init(account: String, container: String, prefix: String, endpoint: URL?) throws(StorageError) {
        // "Storage account overview": 3 to 24 lowercase letters and digits. Emulators and private clouds allow more.
        guard Self.isName(account, in: 1...63) else {
            throw StorageError(
                .invalidRequest,
                "'\(account.prefix(80))' is not the name of a storage account: use lowercase letters and digits.")
        }
        guard Self.isName(container, in: 3...63) || container == "$root" else {
            throw StorageError(
                .invalidRequest,
                """
                '\(container.prefix(80))' is not the name of a container: use 3 to 63 lowercase letters, digits and \
                '-'.
                """
            )
        }
        let prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        let isPlain = prefix.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0 != "\\" }
        // A segment that ends with a dot loses it on the way; one of dots only leads elsewhere.
        let segments = prefix.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        guard prefix.utf8.count <= 400, isPlain, segments.allSatisfy({ !$0.isEmpty && !$0.hasSuffix(".") }) else {
            throw StorageError(
                .invalidRequest,
                """
                The prefix of the keys has more than 400 bytes, control characters, '\\', '//', or a dot at the end of \
                a segment: choose another.
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

    /// The path of a blob, or of the container itself. A key needs no encoding: its alphabet is its rule.
    func path(of key: ObjectKey?) -> String { key.map { blobPath + $0.rawValue } ?? containerPath }

    /// What a signature for a blob is about ("Create a service SAS", canonicalized resource): nothing is encoded in it.
    func signedName(of key: ObjectKey) -> String { "/blob/\(account)/\(container)/\(prefix)\(key.rawValue)" }

    /// Where a blob is, without a query.
    func url(of key: ObjectKey) -> URL {
        URL(string: "\(origin)\(path(of: key))") ?? URL(fileURLWithPath: path(of: key))
    }

    /// The key of a listed name; nil for one that is none, or that stands elsewhere.
    func key(listed name: String) -> ObjectKey? {
        name.hasPrefix(prefix) ? ObjectKey(listed: String(name.dropFirst(prefix.count))) : nil
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
