import Foundation
import GRDB
import LFSDatabase
import LFSSystem

/// A row of `lfs_setting`. Another program may have written it, so it is untrusted input.
struct SettingRow: Sendable {
    static let columns = "name, value, serializer, version, updateID, updatedAt, isRemoved, isTaken"

    let name: String
    /// Nil for a removed value. ``SettingsError/Code/corrupted`` if another program has written it.
    let value: Result<StoredValue?, SettingsError>
    /// The id of the update. Nil if another program has written it. Any other id counts as later then.
    let updateID: FileID?
    /// Milliseconds since 1970.
    let updatedAt: Int64
    let isRemoved: Bool
    /// True for the removal by a step of a catalog. A later step may set the value again.
    let isRemovedByStep: Bool
    /// True if another device set the value.
    let isTaken: Bool

    /// - Parameter row: has the columns of ``columns``.
    /// - Returns: nil for a row whose name is not text.
    init?(_ row: Row) {
        guard let name = String.fromDatabaseValue(row[0]) else { return nil }
        let serializer = String.fromDatabaseValue(row[2])
        self.name = name
        updateID = FileID.fromDatabaseValue(row[4]).flatMap { $0.bits.isVersion7 ? $0 : nil }
        updatedAt = Int64.fromDatabaseValue(row[5]) ?? 0
        isRemoved = Bool.fromDatabaseValue(row[6]) ?? false
        isRemovedByStep = isRemoved && serializer == SettingTable.removedByStep
        isTaken = Bool.fromDatabaseValue(row[7]) ?? false
        if isRemoved {
            value = .success(nil)
        } else if case .blob(let bytes) = (row[1] as DatabaseValue).storage, let serializer,
            let version = Int.fromDatabaseValue(row[3]), let time = Int64.fromDatabaseValue(row[5])
        {
            let content = SerializedValue(serializer: serializer, version: version, bytes: bytes)
            value = .success(StoredValue(content, updatedAt: time))
        } else {
            value = .failure(Self.damaged)
        }
    }

    private static var damaged: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The row of the key in lfs_setting cannot be read, because another program has written it. It is left \
                unchanged. Set or remove the key to repair it.
                """)
    }
}
