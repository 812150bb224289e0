public import Foundation

/// A storage of a journal: a folder, or a database whose pictures are offloaded.
///
/// Every implementation guarantees this:
///
/// - When a call that writes returns, the change survives the end of the process. When it throws, nothing has changed.
/// - A stored record lists exactly the pictures that the storage has. ``saveImage(_:for:filename:)`` adds a name and
///   ``deleteImage(filename:for:)`` removes it. Saving a record only sets the order of its pictures: names of missing
///   pictures are dropped, and pictures that the record does not list are kept at the end, since another window may
///   have just added them.
/// - Records are sorted by their start, then by their id.
/// - A damaged record is left out and is reported by ``StreamingFileStorageService/damagedRecords()``.
/// - Errors are ``FileStorageError`` or `CancellationError`. A call that reads may throw
///   ``FileStorageError/fileReadFailed(name:reason:)`` or ``FileStorageError/decodingFailed(name:reason:)``, and a call
///   that writes ``FileStorageError/fileWriteFailed(name:reason:)``. The comment of a call names its other errors.
/// - Calls may be made concurrently.
public protocol FileStorageService: Sendable {
    /// Returns all tags in the order in which they were saved. An empty list if none have been saved.
    func loadTags() async throws -> [Tag]

    /// Replaces the list of tags. Records keep the ids of tags that are no longer listed.
    ///
    /// - Throws: ``FileStorageError/encodingFailed(name:reason:)`` if the list contains an id twice.
    ///   ``FileStorageError/fileWriteFailed(name:reason:)``.
    func saveTags(_ tags: [Tag]) async throws

    /// Returns the records that have a part in the range `from ..< to`, as ``TimeRecord/overlaps(from:to:)`` defines
    /// it.
    func loadRecords(from: Date, to: Date) async throws -> [TimeRecord]

    /// Returns the records without an end, whatever their start.
    func loadRunningRecords() async throws -> [TimeRecord]

    /// Returns all records.
    func loadAllRecords() async throws -> [TimeRecord]

    /// Stores a record. A record with the same id is replaced.
    ///
    /// - Throws: ``FileStorageError/encodingFailed(name:reason:)``, ``FileStorageError/fileWriteFailed(name:reason:)``,
    ///   ``FileStorageError/decodingFailed(name:reason:)`` if the stored record is damaged.
    func saveRecord(_ record: TimeRecord) async throws

    /// Replaces the stored record with the same id.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)`` if the record is not stored, and the errors of
    ///   ``saveRecord(_:)``.
    func updateRecord(_ record: TimeRecord) async throws

    /// Deletes the record with this id and its pictures, even if it is damaged.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    func deleteRecord(_ record: TimeRecord) async throws

    /// Stores a picture of a stored record. A picture with the same name is replaced.
    ///
    /// - Parameters:
    ///   - data: The bytes, which are not examined.
    ///   - record: The record, of which only the id is used.
    ///   - filename: An ``ImageName`` of this record.
    /// - Throws: ``FileStorageError/imageWriteFailed(name:reason:)``, ``FileStorageError/fileNotFound(name:)`` if the
    ///   record is not stored.
    func saveImage(_ data: Data, for record: TimeRecord, filename: String) async throws

    /// Returns all bytes of a picture.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)``, also for an invalid name.
    ///   ``FileStorageError/fileReadFailed(name:reason:)``.
    func loadImage(filename: String, for record: TimeRecord) async throws -> Data

    /// Deletes a picture and its name in the record.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    func deleteImage(filename: String, for record: TimeRecord) async throws

    /// Returns the URL of a picture for a page or a person. The storage is not queried, so that a missing picture has a
    /// URL as well.
    ///
    /// A name that is not an ``ImageName`` of the record is not part of the URL, which then leads to no picture.
    func imageURL(filename: String, for record: TimeRecord) -> URL
}
