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

    let toggles: [SettingsView.Toggle]
    let delay: Int
    let roots: String
    let groups: [Group]
    let state: String
    let trouble: String?

    init(_ backup: FolderBackup, settings: StorageRouter, times: LocalTime) async throws {
        var toggles = [
            SettingsView.Toggle(
                "automatic", isOn: try await settings.get(.backupAutomatic), label: "Back up automatically",
                hint: "Every 15 minutes."),
            SettingsView.Toggle(
                "charging", isOn: try await settings.get(.backupRequiresCharging), label: "Only on mains power",
                hint: "With automatic backups, all uploads wait for this."),
        ]
        if !backup.isOnFolder {
            toggles.append(
                SettingsView.Toggle(
                    "wifi", isOn: try await settings.get(.backupRequiresWiFi), label: "Only over cable or Wi-Fi",
                    hint: "With automatic backups, all uploads wait for this."))
        }
        self.toggles = toggles
        delay = Int(try await settings.get(.backupDelay).components.seconds / 60)
        roots = backup.roots.names.joined(separator: ", ")
        groups = try await settings.get(.backupGroups).map { group in
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
