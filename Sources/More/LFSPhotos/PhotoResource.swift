import LFSBackup
import LFSSystem

/// A resource of a photo: bytes with a file name and a type.
///
/// Names and types come from other devices and apps, so they are untrusted.
struct PhotoResource: Hashable, Sendable {
    /// The kinds that are backed up, with the numbers of `PHAssetResourceType`. Alternate photos, such as the raw one
    /// of a pair, and the data of edits are not.
    enum Kind: Int, Sendable {
        case photo = 1
        case video = 2
        case audio = 3
        case fullSizePhoto = 5
        case fullSizeVideo = 6
        case pairedVideo = 9
        case fullSizePairedVideo = 10
    }

    private static let largestStem = 100
    private static let largestExtension = 10

    let kind: Kind
    /// The file name, such as `IMG_0001.HEIC`.
    let name: String
    /// The uniform type identifier, such as `public.heic`.
    let typeIdentifier: String

    /// The media type. Nil for a type that is not in the table.
    var contentType: String? { Self.types[typeIdentifier]?.contentType }

    /// Returns a name to show: the given file name, with the extension of this resource.
    ///
    /// It is never empty and has no slashes or control characters. The stem has at most 100 characters.
    func title(from original: String) -> String {
        let stem = Self.clean(Self.split(original).stem)
        let start = stem.allSatisfy { $0 == "." } ? fallback : stem
        let pathExtension = Self.split(name).pathExtension.map(String.init) ?? Self.types[typeIdentifier]?.pathExtension
        return pathExtension.map { "\(start).\($0)" } ?? start
    }

    private var fallback: String {
        switch kind {
        case .photo, .fullSizePhoto: "photo"
        case .video, .fullSizeVideo, .pairedVideo, .fullSizePairedVideo: "video"
        case .audio: "audio"
        }
    }

    /// Splits a file name at its last dot. Without a usual extension, the whole name is the stem.
    private static func split(_ name: String) -> (stem: Substring, pathExtension: Substring?) {
        guard let dot = name.lastIndex(of: ".") else { return (name[...], nil) }
        let found = name[name.index(after: dot)...]
        let isUsual =
            (1...largestExtension).contains(found.utf8.count) && found.utf8.allSatisfy { $0.isLetter || $0.isDigit }
        return isUsual ? (name[..<dot], found) : (name[...], nil)
    }

    private static func clean(_ stem: Substring) -> String {
        stem.unicodeScalars.prefix(largestStem).reduce(into: "") { text, scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: text += "_"
            default: text.unicodeScalars.append(scalar == "/" ? "_" : scalar)
            }
        }
    }

    /// The types of pictures, videos and sounds that Photos stores (Apple's system-declared uniform type identifiers).
    private static let types: [String: (contentType: String, pathExtension: String)] = [
        "public.jpeg": ("image/jpeg", "jpg"), "public.heic": ("image/heic", "heic"),
        "public.heif": ("image/heif", "heif"), "public.png": ("image/png", "png"),
        "com.compuserve.gif": ("image/gif", "gif"), "public.tiff": ("image/tiff", "tiff"),
        "org.webmproject.webp": ("image/webp", "webp"), "public.avif": ("image/avif", "avif"),
        "public.jpeg-xl": ("image/jxl", "jxl"), "com.microsoft.bmp": ("image/bmp", "bmp"),
        "com.adobe.raw-image": ("image/x-adobe-dng", "dng"), "com.apple.quicktime-movie": ("video/quicktime", "mov"),
        "public.mpeg-4": ("video/mp4", "mp4"), "com.apple.m4v-video": ("video/mp4", "m4v"),
        "public.3gpp": ("video/3gpp", "3gp"), "com.apple.m4a-audio": ("audio/mp4", "m4a"),
    ]
}
