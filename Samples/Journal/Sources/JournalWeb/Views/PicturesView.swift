import JournalStorage

struct AlbumView: Sendable {
    let id: String
    let path: String
    let name: String
    /// Indicates that another account has shared the album.
    let isForeign: Bool

    init(_ album: Album, isForeign: Bool = false) {
        self.isForeign = isForeign
        id = album.id.text
        path = "/albums/\(id)"
        name = album.name
    }
}

/// A group of pictures in a part of the page.
struct PictureGroupView: Sendable {
    /// The day. Nil if pictures are grouped by months or not at all.
    let dayTitle: String?
    /// The path and the first line of the record of all pictures. Nil if they may belong to several records.
    let record: String?
    let headline: String
    private(set) var pictures: [PictureView]

    static func groups(
        _ images: [TimelineImage], by grouping: PictureGrouping, badges: BadgeMaker
    ) -> [PictureGroupView] {
        var groups: [PictureGroupView] = []
        for image in images {
            let day = LocalTime(image.record.zone).day(image.record.start)
            let title = grouping == .record || grouping == .day ? day : nil
            let record = grouping == .record ? image.record.path : nil
            let picture = PictureView(image, day: day, badges: badges)
            if let last = groups.last, last.dayTitle == title, last.record == record {
                groups[groups.count - 1].pictures.append(picture)
            } else {
                groups.append(
                    PictureGroupView(
                        dayTitle: title, record: record, headline: RecordView.headline(image.record.comment),
                        pictures: [picture]))
            }
        }
        return groups
    }
}

/// A part of a month, which is loaded when it is near the visible part of the page.
struct PicturePartView: Sendable {
    /// The month and the number of the part, such as `2026-03.0`.
    let key: String
    let path: String
    /// The month, on its first part. Nil if pictures are not grouped.
    let heading: String?
    /// The target of links to the month. Nil for all parts but the first.
    let anchor: String?
    let count: Int
    /// The number of pictures in words.
    let amount: String
    let groups: [PictureGroupView]
    /// Indicates that the pictures are on the page.
    let isFilled: Bool

    /// The maximum number of pictures of a part.
    static let size = 60

    init(
        _ month: MonthPlace, part: Int, count: Int, grouping: PictureGrouping, groups: [PictureGroupView]?
    ) {
        key = "\(month.text).\(part)"
        path = "/pictures?month=\(month.text)&part=\(part)"
        heading = part == 0 && grouping != .none ? month.name : nil
        anchor = part == 0 ? "m-\(month.text)" : nil
        self.count = count
        amount = Words.count(count, one: "picture", more: "pictures")
        self.groups = groups ?? []
        isFilled = groups != nil
    }
}

/// A link to a month.
struct MonthLinkView: Sendable {
    let anchor: String
    let name: String
}

struct PicturesView: Sendable {
    let albums: [AlbumView]
    /// The albums of other accounts that cannot be read and can be left.
    let unreadable: [UnreadableAlbum]
    /// The albums that pictures of this page can be added to.
    let ownAlbums: [AlbumView]
    /// Indicates that links to albums show their covers.
    let hasCovers: Bool
    /// The links to the months. Empty for one month.
    let months: [MonthLinkView]
    let parts: [PicturePartView]
    /// The groups of the pictures that were found.
    let found: [PictureGroupView]
    /// The text that was searched for. Empty for none.
    let query: String
    let foundText: String
    /// The path of the next part, on a page with one part.
    let nextPart: String?
    let isEmpty: Bool
    let welcome: WelcomeView
    /// The maximum size of a picture in bytes.
    let limit: Int64
}

/// The first steps with an empty journal.
struct WelcomeView: Sendable {
    /// Indicates that the journal can be filled with sample records.
    let canFill: Bool
    let maxSize: String

    init(_ options: WebOptions) {
        canFill = options.fillDemo != nil
        maxSize = Words.bytes(options.maxPictureByteCount)
    }
}

struct AlbumPageView: Sendable {
    struct Item: Sendable {
        let picture: PictureView
        let canRemove: Bool
        /// Indicates that the picture is an asset of this account, which can be a favourite.
        let isOwn: Bool
        let isFavorite: Bool
    }

    let album: AlbumView
    let items: [Item]
    let isForeign: Bool
    /// Indicates that the album can be shared from this page.
    let canShare: Bool
    let members: [AlbumMemberView]
    /// Indicates that the pictures stay on this device when space is freed.
    let isKept: Bool
    /// The membership by which this account sees another account's album.
    let mine: AlbumMemberView?
}

struct AlbumMemberView: Sendable {
    let id: String
    let name: String
    let does: String
    let isMe: Bool

    init(_ member: AlbumMember, isMe: Bool) {
        id = member.id
        name = member.name
        self.isMe = isMe
        does = member.role == .editor ? "can add and remove pictures" : "can view"
    }
}

struct LoginView: Sendable {
    let message: String?
}
