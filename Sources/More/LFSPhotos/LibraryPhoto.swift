import Foundation
import LFSBackup

/// A photo, a video or a sound of a library, with the resources that have its bytes.
struct LibraryPhoto: Hashable, Sendable {
    /// The attributes of its picture.
    var attributes: PhotoAttributes
    var resources: [PhotoResource]

    /// The stamp of all its originals. The time changes with each edit, and with other changes by the user, such as of
    /// the favorites.
    var stamp: AssetVersion {
        let time = (attributes.modifiedAt ?? attributes.createdAt).map { "\($0.timeIntervalSince1970)" } ?? "-"
        let size = "\(attributes.pixelWidth)x\(attributes.pixelHeight)"
        // Photos does not report the size in bytes.
        return AssetVersion(byteCount: nil, text: "photo:\(time):\(size):\(attributes.duration)")
    }

    /// Returns the resource with the current bytes of a part, after all edits. Nil if the photo does not have the part.
    func resource(of part: PhotoPart) -> PhotoResource? { first(of: part.editedKinds) ?? first(of: part.uneditedKinds) }

    /// Returns the original of a part. Nil if the photo does not have the part.
    func asset(_ part: PhotoPart, groups: Set<BackupGroup.ID>) -> Asset? {
        guard let resource = resource(of: part) else { return nil }
        // An edit has a name of the system, such as FullSizeRender.jpg.
        let named = first(of: part.uneditedKinds) ?? resource
        var asset = Asset(
            id: PhotoReference(identifier: attributes.identifier, part: part).name,
            title: AssetName(resource.title(from: named.name)), contentType: resource.contentType, stamp: stamp,
            groups: groups)
        var attributes = attributes
        attributes.isPairedVideo = part == .pairedVideo
        asset.photo = attributes
        return asset
    }

    private func first(of kinds: [PhotoResource.Kind]) -> PhotoResource? {
        for kind in kinds { if let resource = resources.first(where: { $0.kind == kind }) { return resource } }
        return nil
    }
}

/// A part of a photo that is an original of its own.
enum PhotoPart: CaseIterable, Sendable {
    /// The picture, the video or the sound.
    case main
    /// The video of a Live Photo.
    case pairedVideo

    /// The resources with the current bytes of an edited photo.
    var editedKinds: [PhotoResource.Kind] {
        switch self {
        case .main: [.fullSizePhoto, .fullSizeVideo]
        case .pairedVideo: [.fullSizePairedVideo]
        }
    }

    /// The resources that came from the camera.
    var uneditedKinds: [PhotoResource.Kind] {
        switch self {
        case .main: [.photo, .video, .audio]
        case .pairedVideo: [.pairedVideo]
        }
    }
}

/// The id of an original in a photo library: the identifier of its photo, and `#pairedVideo` for the video of a Live
/// Photo.
struct PhotoReference: Hashable, Sendable {
    private static let pairedVideo = "#pairedVideo"

    let identifier: String
    let part: PhotoPart

    init(identifier: String, part: PhotoPart) {
        self.identifier = identifier
        self.part = part
    }

    /// Reads the id of an original. Nil for the id of another source that is not text.
    init?(_ name: AssetName) {
        guard let text = name.text else { return nil }
        let isPaired = text.hasSuffix(Self.pairedVideo)
        identifier = isPaired ? String(text.dropLast(Self.pairedVideo.count)) : text
        part = isPaired ? .pairedVideo : .main
    }

    var name: AssetName {
        switch part {
        case .main: AssetName(identifier)
        case .pairedVideo: AssetName(identifier + Self.pairedVideo)
        }
    }
}
