package import LFSStorage

/// A storage that signs the requests of an upload in advance, so that another program can send them without the
/// credentials.
///
/// The other program only moves bytes. The upload itself is carried out by
/// `RemoteStorage.upload(_:to:session:)` afterwards, which finds the bytes and confirms them.
package protocol PresigningStorage: RemoteStorage {
    /// Begins an upload or continues it, and signs requests for the bytes that the storage does not have.
    ///
    /// - Parameters:
    ///   - session: contains the checkpoint of an earlier attempt, and makes the checkpoint of this one durable before
    ///     a request is returned.
    ///   - limit: the maximum number of requests.
    ///   - expires: the wanted lifetime of the requests, from 1 second to 7 days. It may be shorter.
    /// - Returns: the requests in the order of their ranges, signed together. Empty if the storage has all bytes
    ///   already, or if only the ordinary upload can decide how to continue.
    /// - Throws: the errors of `RemoteStorage.upload(_:to:session:)`.
    func presignedParts(
        of source: UploadSource, to key: ObjectKey, session: UploadSession, limit: Int, expires: Duration
    ) async throws -> [PresignedPart]
}

/// A request that sends a range of a file.
package struct PresignedPart: Sendable {
    /// The number of the part, from 1.
    package let number: Int
    package let range: Range<Int64>
    /// A PUT request.
    package let request: PresignedRequest

    package init(number: Int, range: Range<Int64>, request: PresignedRequest) {
        self.number = number
        self.range = range
        self.request = request
    }
}
