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

/// Pictures that stand together among others.
struct PictureGroupView: Sendable {
    /// nil where pictures stand one after the other.
    let heading: String?
    /// The record whose they all are; nil where they may be of several.
    let record: RecordView?
    private(set) var pictures: [PictureView]

    /// - Parameter records: the records with their days, `2026-03-29`, in the order of the page.
    static func groups(_ records: [(day: String, view: RecordView)], by grouping: PictureGrouping) -> [PictureGroupView]
    {
        var groups: [PictureGroupView] = []
        for (day, view) in records {
            let heading: String? =
                switch grouping {
                case .record, .day: day
                case .month: String(day.prefix(7))
                case .none: nil
                }
            if grouping != .record, let last = groups.last, last.heading == heading {
                groups[groups.count - 1].pictures += view.pictures
            } else {
                groups.append(
                    PictureGroupView(
                        heading: heading, record: grouping == .record ? view : nil, pictures: view.pictures))
            }
        }
        return groups
    }
}

struct PicturesView: Sendable {
    let albums: [AlbumView]
    /// Those of other accounts that cannot be read, and can be left.
    let unreadable: [UnreadableAlbumView]
    /// Those into which pictures of this page can be put.
    let ownAlbums: [AlbumView]
    let hasAlbums: Bool
    let groups: [PictureGroupView]
    let older: String
    let hasOlder: Bool
    let isEmpty: Bool
}

struct UnreadableAlbumView: Sendable {
    let id: String
    let name: String

    init(_ album: UnreadableAlbum) {
        id = album.id
        name = album.name
    }
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
