import Foundation
import LFSBackup
import LFSSettings

/// Which folders are backed up, when, and how that stands.
struct BackupView: Sendable {
    struct Group: Sendable {
        let path: String
        let mode: String
        let last: String
    }

    let toggles: [SettingsView.Toggle]
    let delay: Int
    let roots: String
    let groups: [Group]
    let hasGroups: Bool
    let state: String
    let trouble: String?

    init(_ backup: FolderBackup, _ settings: StorageRouter, _ times: LocalTime) async throws {
        var toggles = [
            SettingsView.Toggle(
                "automatic", try await settings.get(.backupAutomatic), "Back up by itself", "Every 15 minutes."),
            SettingsView.Toggle(
                "charging", try await settings.get(.backupRequiresCharging), "Only with mains power",
                "Where it backs up by itself, all uploads wait for it."),
        ]
        if !backup.isOnFolder {
            toggles.append(
                SettingsView.Toggle(
                    "wifi", try await settings.get(.backupRequiresWiFi), "Only by cable or Wi-Fi",
                    "Where it backs up by itself, all uploads wait for it."))
        }
        self.toggles = toggles
        delay = Int(try await settings.get(.backupDelay).components.seconds / 60)
        roots = backup.roots.names.joined(separator: ", ")
        groups = try await settings.get(.backupGroups).map { group in
            Group(
                path: group.id, mode: group.mode == .include ? "included" : "excluded",
                last: group.lastBackup.map { "whole \(times.day($0)) \(times.clock($0))" } ?? "")
        }
        hasGroups = !groups.isEmpty
        let now = backup.state
        trouble = now.trouble
        if now.isRunning {
            state = "A backup is under way."
        } else if let report = now.report {
            let words = [
                "\(Words.count(report.attached - report.shared, "new picture", "new pictures"))",
                "\(report.unchanged) as before", "\(report.declined) deleted here", "\(report.failed) not readable",
            ]
            state = "The last backup: " + words.joined(separator: ", ") + "."
        } else {
            state = "There was no backup since the journal was started."
        }
    }
}
