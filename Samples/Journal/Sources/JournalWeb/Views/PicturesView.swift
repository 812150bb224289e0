import Foundation
import JournalStorage

struct AlbumView: Sendable {
    let id: String
    let path: String
    let name: String

    init(_ album: Album) {
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
    let hasAlbums: Bool
    let groups: [PictureGroupView]
    let older: String
    let hasOlder: Bool
    let isEmpty: Bool
}

struct AlbumPageView: Sendable {
    struct Item: Sendable {
        let asset: String
        let picture: PictureView
    }

    let album: AlbumView
    let items: [Item]
    let isEmpty: Bool
}

struct LoginView: Sendable {
    let message: String?
}

struct ErrorView: Sendable {
    let message: String?
    let request: String
}
