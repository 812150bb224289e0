public import Foundation

/// A picture's bytes, in chunks of some hundred kilobytes.
public typealias ImageChunks = any AsyncSequence<Data, any Error> & Sendable

/// A journal whose pictures are never whole in memory: what a web server, and a copy of a journal, needs besides.
///
/// The rules of ``FileStorageService`` hold here too. When the chunks end with an error, that one is thrown, and
/// nothing of the picture was kept.
public protocol StreamingFileStorageService: FileStorageService {
    /// One record.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/decodingFailed(name:reason:)``,
    ///   ``FileStorageError/fileReadFailed(name:reason:)``.
    func loadRecord(_ id: UUID) async throws -> TimeRecord

    /// Stores a picture as ``FileStorageService/saveImage(_:for:filename:)`` does.
    ///
    /// - Throws: as that one, and what the chunks throw.
    func saveImage(from chunks: ImageChunks, for record: TimeRecord, filename: String) async throws

    /// Stores a new picture of a record under a name that none has had at the same time, and returns the name.
    ///
    /// - Throws: as ``saveImage(from:for:filename:)``; ``FileStorageError/imageWriteFailed(name:reason:)`` for an
    ///   extension that ``ImageName`` does not take.
    func addImage(from chunks: ImageChunks, for record: TimeRecord, fileExtension: String) async throws -> String

    /// The bytes of a picture. Every iteration begins at the first one, and has the bytes of this moment to the end,
    /// also when the picture is replaced or deleted meanwhile.
    ///
    /// - Throws: as ``FileStorageService/loadImage(filename:for:)``; so does the iteration.
    func imageChunks(filename: String, for record: TimeRecord) async throws -> ImageChunks

    /// What is damaged, by name. It looks at everything, so it is nothing for every page.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)`` when there is no looking.
    func damagedRecords() async throws -> [DamagedRecord]
}
