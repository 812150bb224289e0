package import LFSHTTP
public import LFSStorage
import LFSSystem

/// How an ``AzureStorage`` uploads and connects. The defaults suit most apps.
@dynamicMemberLookup
public struct AzureOptions: Sendable {
    /// Files from this size on, in bytes, are uploaded in blocks, which go on after an interruption.
    public var multipartThreshold: Int64 = 32 << 20
    /// The size of a block in bytes; it grows for files that would have too many. nil lets the file's size decide.
    public var partSize: Int64?
    /// How many blocks are under way at once, of all files together.
    public var maxConcurrentParts = 6
    /// The access tier of new blobs, such as `Cool`; nil for the account's default. `Archive` cannot be read back.
    public var accessTier: String?
    /// The version of the service's interface that requests ask for.
    public var serviceVersion = "2023-11-03"
    /// How it connects. Its settings can be named here as well: `options.uploadLimit`.
    public var connection = ConnectionOptions()

    /// What sends the requests, and ends with the storage; nil for the engine that this platform has. One that is given
    /// connects as it likes, whatever the ``connection`` says.
    package var transport: (any HTTPTransport)?

    /// The defaults.
    public init() {}

    /// A setting of the ``connection``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<ConnectionOptions, Value>) -> Value {
        get { connection[keyPath: setting] }
        set { connection[keyPath: setting] = newValue }
    }

    /// Looks at what would be refused with every file, before the first one.
    ///
    /// - Throws: ``StorageError/Code/invalidRequest``, with the setting and what it may be.
    func check() throws(StorageError) {
        let version = serviceVersion.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard version.map(\.count) == [4, 2, 2], version.joined().allSatisfy(\.isDigit) else {
            throw StorageError(.invalidRequest, "The service's version is a date: write one such as 2023-11-03.")
        }
        guard accessTier?.utf8.allSatisfy({ $0.isLetter || $0.isDigit }) ?? true, accessTier?.isEmpty != true else {
            throw StorageError(.invalidRequest, "An access tier is a word: write one such as Cool.")
        }
    }
}
