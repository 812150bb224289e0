public import Foundation

/// A folder or an album, and whether its originals are backed up.
public struct BackupGroup: Hashable, Codable, Sendable, Identifiable {
    /// Whether the originals of a group are backed up.
    public enum Mode: String, Hashable, Codable, CaseIterable, Sendable {
        /// They are, unless they are in an excluded group, too.
        case include
        /// They are not, whatever other groups they are in.
        case exclude
        /// It says nothing of them.
        case none
    }

    /// The path of a folder, or the identifier of an album.
    public let id: String
    /// Whether its originals are backed up.
    public var mode: Mode
    /// When all of it was backed up last; nil for never.
    public var lastBackup: Date?

    /// A group.
    public init(_ id: String, _ mode: Mode, lastBackup: Date? = nil) {
        (self.id, self.mode, self.lastBackup) = (id, mode, lastBackup)
    }
}

/// Which groups are backed up.
public struct BackupSelection: Hashable, Sendable {
    /// The groups that are included.
    public let included: Set<BackupGroup.ID>
    /// The groups that are excluded.
    public let excluded: Set<BackupGroup.ID>

    /// The selection that groups make. One that is listed twice, as included and excluded, is excluded.
    public init(_ groups: [BackupGroup]) {
        excluded = Set(groups.filter { $0.mode == .exclude }.map(\.id))
        included = Set(groups.filter { $0.mode == .include }.map(\.id))
    }

    /// Whether an original is backed up: it is in an included group and in no excluded one.
    public func includes(_ groups: Set<BackupGroup.ID>) -> Bool {
        !groups.isDisjoint(with: included) && groups.isDisjoint(with: excluded)
    }
}
