import Foundation
import Hummingbird
import LFSBackup
import LFSSettings

/// The routes for the settings of the backup of folders.
struct BackupRoutes: Sendable {
    let parts: WebParts

    static let maxGroups = 100

    func add(to router: Router<JournalContext>) {
        router.form("/settings/backup", of: parts, use: save)
        router.form("/settings/backup/groups", of: parts, use: put)
        router.form("/settings/backup/run", of: parts) { _, _ in
            try backup().request()
            return "/settings"
        }
    }

    /// - Throws: ``WebError/Code/notFound`` if the operator of the server permits no folders.
    private func backup() throws(WebError) -> FolderBackup {
        guard let backup = parts.backup else {
            throw WebError(.notFound, message: "This journal backs up no folders. Start it with --backup-root FOLDER.")
        }
        return backup
    }

    @Sendable func save(_ form: Form, context: JournalContext) async throws -> String {
        let backup = try backup()
        let fields = SettingField.backup(isOnFolder: backup.isOnFolder)
        try await SettingField.save(form, of: fields, in: parts.settings)
        // Uploads that must now wait are held immediately.
        try await backup.look()
        return "/settings"
    }

    @Sendable func put(_ form: Form, context: JournalContext) async throws -> String {
        let backup = try backup()
        guard form.names.allSatisfy(["token", "path", "mode", "name"].contains), form.all("path").count == 1,
            form.all("mode").count == 1, form.all("name").count < 2,
            let mode = BackupGroup.Mode(rawValue: form["mode"])
        else {
            throw WebError(.badRequest, message: "Name one folder, and choose included, excluded or none.")
        }
        let path = form["path"]
        let given = form.has("name") ? form["name"].trimmingCharacters(in: .whitespacesAndNewlines) : ""
        guard given.count <= 200 else {
            throw WebError(.badRequest, message: "The name of a folder has at most 200 characters.")
        }
        let name = given.isEmpty ? nil : given
        // A listed folder can be removed even if it no longer exists.
        let real = mode == .none ? path : try backup.roots.resolved().folder(path)
        let isFull = WebError(
            .badRequest, message: "There are already \(Self.maxGroups) folders. Add one that contains them instead.")
        try await parts.settings.update(.backupGroups) { groups in
            let index = groups.firstIndex { $0.id == path || $0.id == real }
            if mode == .none {
                if let index { groups.remove(at: index) }
            } else if let index {
                groups[index].mode = mode
                if let name { groups[index].name = name }
            } else {
                guard groups.count < Self.maxGroups else { throw isFull }
                groups.append(BackupGroup(real, mode: mode, name: name))
            }
        }
        return "/settings"
    }
}
