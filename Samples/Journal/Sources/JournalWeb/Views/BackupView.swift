import LFSBackup
import LFSSettings

/// The view of the backup of folders: its settings and its state.
struct BackupView: Sendable {
    struct Group: Sendable {
        let title: String
        let path: String
        let mode: String
        let last: String
    }

    let fields: [FieldView]
    let roots: String
    let groups: [Group]
    let state: String
    let trouble: String?

    init(_ backup: FolderBackup, snapshot: SettingsSnapshot, times: LocalTime) throws {
        fields = try SettingField.backup(isOnFolder: backup.isOnFolder).map { field in
            FieldView(field, text: try field.text(snapshot))
        }
        roots = backup.roots.names.joined(separator: ", ")
        groups = try snapshot.get(.backupGroups).map { group in
            Group(
                title: group.title, path: group.id, mode: group.mode == .include ? "included" : "excluded",
                last: group.lastBackup.map { " (last backup \(times.day($0)) \(times.clock($0)))" } ?? "")
        }
        let now = backup.state.value
        trouble = now.trouble
        if now.isRunning {
            state = "A backup is running."
        } else if let report = now.report {
            let words = [
                "\(Words.count(report.attached - report.shared, one: "new picture", more: "new pictures"))",
                "\(report.unchanged) unchanged", "\(report.declined) deleted in the journal",
                "\(report.failed) unreadable",
            ]
            state = "The last backup: " + words.joined(separator: ", ") + "."
        } else {
            state = "No backup has run since the journal was started."
        }
    }
}
