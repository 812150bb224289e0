public import Foundation

/// The bytes of a picture, in chunks of some hundred kilobytes.
public typealias ImageChunks = any AsyncSequence<Data, any Error> & Sendable

/// A journal whose pictures are never completely in memory. A web server and a copy of a journal need this protocol.
///
/// The rules of ``FileStorageService`` apply here too. If the chunks end with an error, that error is thrown, and
/// nothing of the picture is kept.
public protocol StreamingFileStorageService: FileStorageService {
    /// Returns a record.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/decodingFailed(name:reason:)``,
    ///   ``FileStorageError/fileReadFailed(name:reason:)``.
    func loadRecord(_ id: UUID) async throws -> TimeRecord

    /// Stores a picture as ``FileStorageService/saveImage(_:for:filename:)`` does.
    ///
    /// - Throws: The errors of that method, and those of the chunks.
    func saveImage(from chunks: ImageChunks, for record: TimeRecord, filename: String) async throws

    /// Stores a new picture of a record under an unused name, and returns the name.
    ///
    /// - Throws: The errors of ``saveImage(from:for:filename:)``. ``FileStorageError/imageWriteFailed(name:reason:)``
    ///   for an extension that ``ImageName`` does not permit.
    func addImage(from chunks: ImageChunks, for record: TimeRecord, fileExtension: String) async throws -> String

    /// Returns the bytes of a picture. Every iteration begins at the first byte and returns the present bytes to the
    /// end, even if the picture is replaced or deleted during the iteration.
    ///
    /// - Throws: The errors of ``FileStorageService/loadImage(filename:for:)``. The iteration throws them too.
    func imageChunks(filename: String, for record: TimeRecord) async throws -> ImageChunks

    /// Returns the damaged items by name. The call examines all contents, so that it is too slow for every page.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)`` if the contents cannot be examined.
    func damagedRecords() async throws -> [DamagedRecord]
}
