import Foundation
import JournalStorage

struct AlbumView: Sendable {
    let id: String
    let path: String
    let name: String
    /// Whether another account has shared it.
    let isForeign: Bool

    init(_ album: Album, isForeign: Bool = false) {
        self.isForeign = isForeign
        id = album.id.text
        path = "/albums/\(id)"
        name = album.name
    }
}

/// The pictures of one record among those of others.
struct PictureGroupView: Sendable {
    let day: String
    let headline: String
    let path: String
    let pictures: [PictureView]
}

struct PicturesView: Sendable {
    let albums: [AlbumView]
    /// Those into which pictures of this page can be put.
    let ownAlbums: [AlbumView]
    let hasAlbums: Bool
    let groups: [PictureGroupView]
    let older: String
    let hasOlder: Bool
    let isEmpty: Bool
}

struct AlbumPageView: Sendable {
    struct Item: Sendable {
        let picture: PictureView
        let canRemove: Bool
    }

    let album: AlbumView
    let items: [Item]
    let isEmpty: Bool
    let isForeign: Bool
    /// Whether it can be shared from here.
    let canShare: Bool
    let members: [AlbumMemberView]
    let hasMembers: Bool
    /// What lets this account see an album of another one.
    let mine: AlbumMemberView?
}

struct AlbumMemberView: Sendable {
    let id: String
    let name: String
    let does: String
    let isMe: Bool

    init(_ member: AlbumMember, isMe: Bool) {
        (id, name, self.isMe) = (member.id, member.name, isMe)
        does = member.role == .editor ? "adds and takes out pictures" : "sees it"
    }
}

struct LoginView: Sendable {
    let message: String?
}

struct ErrorView: Sendable {
    let message: String?
    let request: String
}
