import Foundation
import Hummingbird
import LFSBackup
import LFSSettings

/// Which folders of pictures are backed up, and when.
struct BackupRoutes: Sendable {
    let parts: WebParts

    static let maxGroups = 100

    private static func fields(_ backup: FolderBackup) -> [SettingField] {
        let fields: [SettingField] = [
            .toggle("automatic", .backupAutomatic), .toggle("charging", .backupRequiresCharging),
            .minutes("delay", .backupDelay, 0...1_440),
        ]
        return backup.isOnFolder ? fields : fields + [.toggle("wifi", .backupRequiresWiFi)]
    }

    func add(to router: Router<JournalContext>) {
        router.post("/settings/backup", use: save)
        router.post("/settings/backup/groups", use: put)
        router.post("/settings/backup/run", use: run)
    }

    /// - Throws: ``WebError/Code/notFound`` where whoever runs the server allows no folder.
    private func backup() throws(WebError) -> FolderBackup {
        guard let backup = parts.backup else {
            throw WebError(.notFound, "This journal backs up no folders. Start it with --backup-root FOLDER.")
        }
        return backup
    }

    @Sendable func save(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        let backup = try backup()
        let changes = try SettingField.changes(form, of: Self.fields(backup))
        try await parts.settings.write { batch in
            for change in changes { try change(batch) }
        }
        // What must wait from now on waits at once.
        try await backup.look()
        return parts.redirect(to: "/settings")
    }

    @Sendable func put(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        let backup = try backup()
        guard form.names.allSatisfy(["token", "path", "mode"].contains), form.all("path").count == 1,
            form.all("mode").count == 1, let mode = BackupGroup.Mode(rawValue: form["mode"])
        else { throw WebError(.badRequest, "Name one folder, and whether it is included, excluded or neither.") }
        let path = form["path"]
        // One that is listed may go, also when it is not there any more.
        let real = mode == .none ? path : try backup.roots.resolved().folder(path)
        let isFull = WebError(.badRequest, "There are \(Self.maxGroups) folders already. Name one that they are in.")
        try await parts.settings.update(.backupGroups) { groups in
            let index = groups.firstIndex { $0.id == path || $0.id == real }
            if mode == .none {
                if let index { groups.remove(at: index) }
            } else if let index {
                groups[index].mode = mode
            } else {
                guard groups.count < Self.maxGroups else { throw isFull }
                groups.append(BackupGroup(real, mode))
            }
        }
        return parts.redirect(to: "/settings")
    }

    @Sendable func run(_ request: Request, _ context: JournalContext) async throws -> Response {
        _ = try await parts.form(request, context)
        try backup().request()
        return parts.redirect(to: "/settings")
    }
}
