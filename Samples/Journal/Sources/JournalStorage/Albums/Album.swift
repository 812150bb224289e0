public import Foundation

/// An ordered list of pictures with an owner and a title.
public struct Album: Hashable, Sendable, Identifiable {
    /// The album's id, which is the same on all devices.
    public var id: UUID
    /// The album's id on a server. Nil until a server has assigned one. No two albums have the same remote id.
    public var remoteID: String?
    /// The album's id in the photo library of this device. Nil if it is in none. No two albums of one owner have the
    /// same local id.
    public var localID: String?
    /// The owner of the album: any text by which an app identifies people.
    public var ownerID: String
    /// The title that is shown.
    public var name: String
    /// The time when the album was created, to the millisecond.
    public var createdAt: Date

    /// Creates an album and rounds its time to the millisecond.
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
    /// The title that is shown: the id if the row has no readable title.
    public let name: String
}
