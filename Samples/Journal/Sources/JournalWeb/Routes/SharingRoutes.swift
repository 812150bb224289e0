import Foundation
import Hummingbird
import JournalStorage
import LFSSync

/// Albums that other accounts see: whom one is shared with, and leaving one.
struct SharingRoutes: Sendable {
    let parts: WebParts

    func add(to router: Router<JournalContext>) {
        router.post("/albums/leave", use: leave)
        router.post("/albums/:id/members", use: share)
        router.post("/albums/:id/members/remove", use: unshare)
    }

    @Sendable func share(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        let album = try await parts.album(context.id())
        guard let sync = parts.sync else {
            throw WebError(.badRequest, "This journal is on this device alone: start it with --sync to share albums.")
        }
        guard !album.isForeign else {
            throw WebError(.badRequest, "Who has shared the album with you may share it with others.")
        }
        let name = form["name"].trimmingCharacters(in: .whitespacesAndNewlines)
        guard (1...128).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw WebError(.badRequest, "Write the name of an account of the sync server.")
        }
        let account: String?
        do {
            account = try await sync.account(named: name)
        } catch let error as SyncError {
            throw WebError(.noServer, "The album is not shared. \(error.message)")
        }
        guard let account else {
            throw WebError(.badRequest, "The sync server has no account of the name '\(name)'.")
        }
        guard account != album.account else { throw WebError(.badRequest, "The album is yours already.") }
        let role: AlbumMember.Role = form["role"] == "editor" ? .editor : .viewer
        try await parts.journal.saveMember(
            AlbumMember(albumID: album.id, accountID: account, role: role, name: name))
        return parts.redirect(to: AlbumView(album.album).path)
    }

    /// Leaves an album whose row cannot be read, so that it has no page.
    @Sendable func leave(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        guard let account = try await parts.sync?.ownAccount() else {
            throw WebError(.badRequest, "Start this journal with --sync to leave an album.")
        }
        do {
            try await parts.journal.leaveAlbum(form["album"], account: account)
        } catch FileStorageError.fileNotFound {
            // Another window or device was first.
        }
        return parts.redirect(to: "/pictures")
    }

    @Sendable func unshare(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        let album = try await parts.album(context.id())
        let member = album.members.first { $0.id == form["member"] }
        guard let member else { return parts.redirect(to: AlbumView(album.album).path) }
        guard !album.isForeign || member.accountID == album.account else {
            throw WebError(.badRequest, "Who has shared the album says who sees it.")
        }
        try await parts.journal.deleteMember(member.id, ofAlbum: album.id)
        return parts.redirect(to: album.isForeign ? "/pictures" : AlbumView(album.album).path)
    }
}
