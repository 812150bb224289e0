public import Foundation
import GRDB
import LFS
public import LFSBackup

extension DatabaseStorageService {
    /// Returns a host for a backup of folders, which adds each picture to the record of its folder and day. A missing
    /// record is created.
    ///
    /// - Parameter timeZone: The time zone that determines the days.
    public static func backupHost(in timeZone: TimeZone) -> BackupHost {
        BackupHost { attachment, db in try BackedUpPictures(timeZone: timeZone).put(attachment, db) }
    }
}

/// Pictures that a backup of folders adds to records.
struct BackedUpPictures {
    let timeZone: TimeZone

    func put(_ attachment: BackupAttachment, _ db: Database) throws {
        let file = attachment.file
        // Equal bytes are one file, and a file is one picture: it may have been added by hand, or be in the trash.
        guard try !PictureTable.contains(file.id, db) else { return try restore(attachment, db) }
        let record = try replacing(attachment, db) ?? madeRecord(attachment, db)
        let index = try PictureTable.freeIndex(record, db)
        guard let fileExtension = Self.fileExtension(attachment.asset.contentType),
            let name = ImageName(recordID: record, index: index, fileExtension: fileExtension)
        else {
            throw BackupError(.refused, message: "its picture format is not supported", asset: attachment.asset.id)
        }
        try PictureTable.put(name, file: file.id, db)
    }

    private static func fileExtension(_ contentType: String?) -> String? {
        guard let contentType, contentType.hasPrefix("image/") else { return nil }
        let kind = String(contentType.dropFirst(6))
        return kind == "jpeg" ? "jpg" : kind
    }

    /// Moves the earlier version of a picture to the trash and returns the id of its record. Its object is kept,
    /// because the new bytes may wait for days until they are uploaded. Returns nil if the picture has no earlier
    /// version, if a person wrote the record, or if another original has the same bytes.
    private func replacing(_ attachment: BackupAttachment, _ db: Database) throws -> UUID? {
        guard let old = attachment.replaced?.id,
            let name = try PictureTable.picture(of: old, db).flatMap(ImageName.init),
            Self.isMade(name.recordID), try !isOfAnother(old, than: attachment.asset.id, db)
        else { return nil }
        // Bytes that are lost cannot be restored.
        let isReplaced =
            try attachment.replacedIsLost
            ? PictureTable.delete(old, of: name.recordID, db)
            : PictureTable.trash(old, of: name.recordID, at: Date(), db)
        return isReplaced ? name.recordID : nil
    }

    /// Restores a picture from the trash if an original has its bytes again, for example after an edit was undone. A
    /// picture that a person has deleted stays in the trash: its original still has the bytes.
    private func restore(_ attachment: BackupAttachment, _ db: Database) throws {
        let file = attachment.file.id
        guard try PictureTable.picture(of: file, db) == nil, try !isOfAnother(file, than: attachment.asset.id, db),
            try PictureTable.restore(file, db)
        else { return }
        _ = try replacing(attachment, db)
    }

    /// Returns true if another original has the same bytes.
    private func isOfAnother(_ file: FileData.ID, than id: AssetName, _ db: Database) throws -> Bool {
        var isShared = false
        try BackupHistory.forEach(db) { note in
            if note.fileID == file, note.id != id, !note.isDeclined { isShared = true }
        }
        return isShared
    }

    // MARK: Records

    /// Returns the record of a folder and a day, which lasts from its first picture to its last. Creates the record or
    /// extends it if necessary.
    private func madeRecord(_ attachment: BackupAttachment, _ db: Database) throws -> UUID {
        let folder = attachment.asset.title.description.split(separator: "/").first.map(String.init) ?? ""
        let date = date(of: attachment.asset.id)
        let day = JournalDay(containing: date, in: timeZone)
        let id = UUID(hashing: "journal backup \(day.interval.start.timeIntervalSince1970) \(folder)")
        guard try RecordTable.contains(id, db) else {
            try RecordTable.put(
                TimeRecord(id: id, start: date, end: date, timeZone: timeZone, comment: "Pictures of \(folder)"), db)
            return id
        }
        var record = try DatabaseStorageService.record(id, db)
        guard date < record.start || date > record.end ?? date else { return id }
        record.start = min(record.start, date)
        record.end = record.end.map { max($0, date) }
        try RecordTable.put(record, db)
        return id
    }

    /// Returns the modification date of a picture's file, or the current date if the file has no plausible date.
    private func date(of original: AssetName) -> Date {
        let attributes = try? original.text.map { try FileManager.default.attributesOfItem(atPath: $0) }
        let (now, date) = (Date(), attributes?[.modificationDate] as? Date)
        guard let date, date.timeIntervalSince1970 > 0, date < now else { return now }
        // The precision of the database is a millisecond.
        return Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1_000).rounded(.down) / 1_000)
    }

    /// Returns true if a backup has created the record: the ids of other records are random.
    private static func isMade(_ id: UUID) -> Bool { id.uuid.6 >> 4 == 8 }
}
