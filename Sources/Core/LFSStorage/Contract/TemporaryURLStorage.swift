public import Foundation

/// A storage that can give other programs access to one object for some time, by a URL.
public protocol TemporaryURLStorage: RemoteStorage {
    /// Returns a URL with which anyone can download an object, but no longer than for the given time.
    ///
    /// The URL is a secret: do not store or log it. The storage does not check that the object exists.
    ///
    /// - Parameters:
    ///   - key: the key of the object.
    ///   - expires: 1 second to 7 days. The URL may expire earlier, for example together with the credentials.
    /// - Throws: ``StorageError/Code/invalidRequest`` for another time, and ``StorageError/Code/unauthorized`` for
    ///   credentials that cannot sign URLs.
    func downloadURL(for key: ObjectKey, expires: Duration) async throws -> URL
}
