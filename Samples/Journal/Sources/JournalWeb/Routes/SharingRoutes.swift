import Foundation
import Hummingbird
import JournalStorage
import LFSSync

/// The routes that share albums with other accounts and leave shared albums.
struct SharingRoutes: Sendable {
    let parts: WebParts

    func add(to router: Router<JournalContext>) {
        router.form("/albums/leave", of: parts, use: leave)
        router.form("/albums/:id/members", of: parts, use: share)
        router.form("/albums/:id/members/remove", of: parts, use: unshare)
    }

    @Sendable func share(_ form: Form, context: JournalContext) async throws -> String {
        let album = try await parts.album(context.id())
        guard let sync = parts.sync else {
            throw WebError(
                .badRequest, message: "This journal does not sync. Start it with --sync to share albums.")
        }
        guard !album.isForeign else {
            throw WebError(.badRequest, message: "Only the album's owner can share it with others.")
        }
        let name = form["name"].trimmingCharacters(in: .whitespacesAndNewlines)
        guard (1...128).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw WebError(.badRequest, message: "Write the name of an account of the sync server.")
        }
        let account: String?
        do {
            account = try await sync.client.account(named: name)
        } catch let error as SyncError {
            throw WebError(.noServer, message: "The album is not shared. \(error.message)")
        }
        guard let account else {
            throw WebError(.badRequest, message: "The sync server has no account with the name '\(name)'.")
        }
        guard account != album.account else { throw WebError(.badRequest, message: "This is your own account.") }
        let role: AlbumMember.Role = form["role"] == "editor" ? .editor : .viewer
        try await parts.journal.saveMember(
            AlbumMember(albumID: album.id, accountID: account, role: role, name: name))
        return AlbumView(album.album).path
    }

    /// Leaves an album whose row cannot be read, and which therefore has no page.
    @Sendable func leave(_ form: Form, context: JournalContext) async throws -> String {
        guard let account = try await parts.sync?.client.ownAccount() else {
            throw WebError(.badRequest, message: "Start this journal with --sync to leave an album.")
        }
        do {
            try await parts.journal.leaveAlbum(form["album"], account: account)
        } catch FileStorageError.fileNotFound {
            // Another window or device has already left it.
        }
        return "/pictures"
    }

    @Sendable func unshare(_ form: Form, context: JournalContext) async throws -> String {
        let album = try await parts.album(context.id())
        let member = album.members.first { $0.id == form["member"] }
        guard let member else { return AlbumView(album.album).path }
        guard !album.isForeign || member.accountID == album.account else {
            throw WebError(.badRequest, message: "Only the album's owner can remove other accounts from it.")
        }
        try await parts.journal.deleteMember(member.id, ofAlbum: album.id)
        return album.isForeign ? "/pictures" : AlbumView(album.album).path
    }
}
