import Foundation
import GRDB

extension PictureTable {
    private static let day = 86_400_000
    /// The maximum number of milliseconds that one look adds to an age, so that no single wrong system time deletes a
    /// picture.
    private static let longestStep = 7 * day

    /// Deletes the pictures finally that were deleted some days ago, both by the time in their row and by the time for
    /// which this device has known the deletion.
    ///
    /// The clock of the device that deleted the picture may be wrong, and so may the clock of this device. Therefore
    /// the table `picture_trash` adds up the time between looks. A pause of more than seven days counts as seven days.
    static func expire(after days: Int, now date: Date, _ db: Database) throws {
        let now = date.millisecondsSince1970
        // Restored pictures.
        try db.execute(
            sql: """
                DELETE FROM picture_trash
                WHERE NOT EXISTS (SELECT 1 FROM picture WHERE id = pictureId AND deletedAt IS NOT NULL)
                """)
        // A clock that was set back adds nothing.
        try db.execute(
            sql: "UPDATE picture_trash SET age = age + min(max(?1 - seenAt, 0), ?2), seenAt = ?1",
            arguments: [now, longestStep])
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO picture_trash (pictureId, age, seenAt)
                SELECT id, 0, ? FROM picture INDEXED BY picture_deleted WHERE deletedAt IS NOT NULL
                """,
            arguments: [now])
        // A value that is not a number compares as larger.
        try db.execute(
            sql: """
                DELETE FROM picture INDEXED BY picture_deleted
                WHERE deletedAt < ? AND EXISTS (SELECT 1 FROM picture_trash WHERE pictureId = picture.id AND age >= ?)
                """,
            arguments: [now - days * day, days * day])
    }
}
