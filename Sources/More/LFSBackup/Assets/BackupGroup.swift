public import Foundation

/// A folder or an album, with its backup mode.
public struct BackupGroup: Hashable, Codable, Sendable, Identifiable {
    /// The backup mode of a group.
    public enum Mode: String, Hashable, Codable, CaseIterable, Sendable {
        /// The originals are backed up, unless they are also in an excluded group.
        case include
        /// The originals are never backed up, whatever other groups they are in.
        case exclude
        /// The group has no effect on its originals.
        case none
    }

    /// The path of a folder, or the identifier of an album.
    public let id: String
    /// The backup mode.
    public var mode: Mode
    /// The name for users, such as the name of an album. Nil if the group has no name besides its id.
    public var name: String?
    /// The time of the last complete backup. Nil for never.
    public var lastBackup: Date?

    /// Creates a group.
    ///
    /// - Parameters:
    ///   - id: the path of a folder, or the identifier of an album.
    ///   - mode: the backup mode.
    ///   - name: the name for users. Nil for none.
    ///   - lastBackup: the time of the last complete backup. Nil for never.
    public init(_ id: String, mode: Mode, name: String? = nil, lastBackup: Date? = nil) {
        self.id = id
        self.mode = mode
        self.name = name
        self.lastBackup = lastBackup
    }

    /// The name, or the last part of the id for a group without a name.
    public var title: String {
        if let name, !name.isEmpty { return name }
        return id.split(separator: "/").last.map(String.init) ?? id
    }
}

/// A selection of included and excluded groups.
package struct BackupSelection: Hashable, Sendable {
    /// The groups that are included.
    package let included: Set<BackupGroup.ID>
    /// The groups that are excluded.
    package let excluded: Set<BackupGroup.ID>

    /// Creates a selection from groups. A group that is listed as both included and excluded is excluded.
    package init(_ groups: [BackupGroup]) {
        excluded = Set(groups.filter { $0.mode == .exclude }.map(\.id))
        included = Set(groups.filter { $0.mode == .include }.map(\.id))
    }

    /// Returns true if an original with these groups is backed up: it is in an included group and in no excluded one.
    package func includes(_ groups: Set<BackupGroup.ID>) -> Bool {
        !groups.isDisjoint(with: included) && groups.isDisjoint(with: excluded)
    }
}
