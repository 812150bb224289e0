public import Foundation

/// A list of pictures that somebody has put together.
public struct Album: Hashable, Sendable, Identifiable {
    /// What it is stored under, on all devices.
    public var id: UUID
    /// What a server calls it; no two albums have the same. Nil until one does.
    public var remoteID: String?
    /// What a photo library of this device calls it; no two of one owner have the same. Nil if none does.
    public var localID: String?
    /// Whose it is: any text that an app knows people by.
    public var ownerID: String
    /// The title to show.
    public var name: String
    /// When it was made, to the millisecond.
    public var createdAt: Date

    /// An album, its time rounded to the millisecond.
    public init(
        id: UUID = UUID(), remoteID: String? = nil, localID: String? = nil, ownerID: String, name: String,
        createdAt: Date
    ) {
        self.id = id
        self.remoteID = remoteID
        self.localID = localID
        self.ownerID = ownerID
        self.name = name
        self.createdAt = createdAt.wholeMilliseconds
    }
}

/// An album that another account has shared and whose row cannot be read.
public struct UnreadableAlbum: Hashable, Sendable, Identifiable {
    /// The row's id, which may be any text.
    public let id: String
    /// The title to show; the id where there is none.
    public let name: String
}
