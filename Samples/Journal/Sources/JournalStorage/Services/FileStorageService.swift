public import Foundation

/// Where a journal is kept: a folder, or a database whose pictures are offloaded.
///
/// What every implementation keeps to:
///
/// - When a call that writes returns, the change survives the end of the process. When it throws, nothing has changed.
/// - A stored record names a picture exactly if the storage has it. ``saveImage(_:for:filename:)`` adds the name,
///   ``deleteImage(filename:for:)`` takes it away, and nothing else does: saving a record puts its pictures in the
///   order that the record names them in. Names of pictures that are not there are dropped, and pictures that it does
///   not name stay, at the end: another window may have just added them.
/// - Records come in the order of their starts, and of their ids where these are the same.
/// - One that is damaged is left out, and ``StreamingFileStorageService/damagedRecords()`` names it.
/// - What fails is a ``FileStorageError``, or a `CancellationError`.
/// - Calls may come from everywhere at once.
public protocol FileStorageService: Sendable {
    /// All tags in the order in which they were saved; none if none were.
    ///
    /// - Throws: ``FileStorageError/decodingFailed(name:reason:)``, ``FileStorageError/fileReadFailed(name:reason:)``.
    func loadTags() async throws -> [Tag]

    /// Puts these tags in the place of all that there were. Records keep the ids of tags that are gone.
    ///
    /// - Throws: ``FileStorageError/encodingFailed(name:reason:)`` when one id comes twice;
    ///   ``FileStorageError/fileWriteFailed(name:reason:)``.
    func saveTags(_ tags: [Tag]) async throws

    /// The records that a part of lies in the range `from ..< to`, as ``TimeRecord/overlaps(from:to:)`` tells.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)``.
    func loadRecords(from: Date, to: Date) async throws -> [TimeRecord]

    /// The records that have no end, wherever they started.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)``.
    func loadRunningRecords() async throws -> [TimeRecord]

    /// All records.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)``.
    func loadAllRecords() async throws -> [TimeRecord]

    /// Stores a record: a new one, or in the place of the one with its id.
    ///
    /// - Throws: ``FileStorageError/encodingFailed(name:reason:)``, ``FileStorageError/fileWriteFailed(name:reason:)``,
    ///   ``FileStorageError/decodingFailed(name:reason:)`` when the one that is stored is damaged.
    func saveRecord(_ record: TimeRecord) async throws

    /// Stores a record in the place of the one with its id.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)`` when there is none, and as ``saveRecord(_:)``.
    func updateRecord(_ record: TimeRecord) async throws

    /// Deletes the record with this id and its pictures; a damaged one too.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    func deleteRecord(_ record: TimeRecord) async throws

    /// Stores a picture of a record that is stored, in the place of the one with its name if there is one.
    ///
    /// - Parameters:
    ///   - data: its bytes, which nobody looks into.
    ///   - record: only its id matters.
    ///   - filename: an ``ImageName`` of this record.
    /// - Throws: ``FileStorageError/imageWriteFailed(name:reason:)``, ``FileStorageError/fileNotFound(name:)`` when the
    ///   record is not stored.
    func saveImage(_ data: Data, for record: TimeRecord, filename: String) async throws

    /// The bytes of a picture, as a whole.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)``, also for a name that is none;
    ///   ``FileStorageError/fileReadFailed(name:reason:)``.
    func loadImage(filename: String, for record: TimeRecord) async throws -> Data

    /// Deletes a picture, and its name in the record.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    func deleteImage(filename: String, for record: TimeRecord) async throws

    /// Where a page or a person finds a picture. It asks nobody, so it has one for a picture that is not there as well.
    ///
    /// A name that is no ``ImageName`` of the record is not taken into it: the URL leads to nothing then.
    func imageURL(filename: String, for record: TimeRecord) -> URL
}
