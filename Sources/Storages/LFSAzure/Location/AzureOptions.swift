package import LFSHTTP
public import LFSStorage
import LFSSystem

/// The upload and connection settings of an ``AzureStorage``. The defaults suit most apps.
@dynamicMemberLookup
public struct AzureOptions: Sendable {
    /// The file size in bytes from which files are uploaded in blocks. Such uploads are resumed after an interruption.
    /// The default is 32 MiB.
    public var multipartThreshold: Int64 = 32 << 20
    /// The size of a block in bytes. It is increased for files that would have too many blocks. nil (default) derives
    /// it from the file's size.
    public var partSize: Int64?
    /// The number of concurrent blocks of all files together. The default is 6.
    public var maxConcurrentParts = 6
    /// The access tier of new blobs, such as `Cool`. nil uses the account's default. `Archive` cannot be read back.
    public var accessTier: String?
    /// The version of the service's API that requests use.
    package var serviceVersion = "2023-11-03"
    /// The connection settings. They are also available directly, as in `options.uploadLimit`.
    public var connection = ConnectionOptions()

    /// The transport for all requests, which the storage shuts down. nil uses the platform's engine. A custom transport
    /// ignores ``connection``.
    package var transport: (any HTTPTransport)?

    /// Creates the default options.
    public init() {}

    /// A setting of the ``connection``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<ConnectionOptions, Value>) -> Value {
        get { connection[keyPath: setting] }
        set { connection[keyPath: setting] = newValue }
    }

    /// Rejects values that the service would refuse with every file, before the first upload.
    ///
    /// - Throws: ``StorageError/Code/invalidRequest``, with the setting and valid values.
    func check() throws(StorageError) {
        let version = serviceVersion.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard version.map(\.count) == [4, 2, 2], version.joined().allSatisfy(\.isDigit) else {
            throw StorageError(
                .invalidRequest, message: "The service's version is a date: write one such as 2023-11-03.")
        }
        guard accessTier?.utf8.allSatisfy({ $0.isLetter || $0.isDigit }) ?? true, accessTier?.isEmpty != true else {
            throw StorageError(.invalidRequest, message: "An access tier is a word: write one such as Cool.")
        }
    }
}
