import LFSBackup

/// The calls of Apple's Photos framework that ``PhotoSource`` makes.
///
/// Rules of an implementation:
/// - All calls may block, and see the library as it is now.
/// - Photos that the app may not read do not exist for it.
/// - `read` calls the channel from one thread at a time, which may block. It ends with one call of
///   ``ChunkChannel/finish(_:)``. The closure that it returns ends the read early. A call of `finish` may then be
///   missing.
protocol PhotoLibrary: Sendable {
    /// The access that the user has granted.
    var access: PhotoAccess { get }

    /// Returns the identifiers of all photos.
    func identifiers() -> [String]
    /// Returns the photos with the identifiers, in any order, without those that do not exist.
    func photos(_ identifiers: [String]) -> [LibraryPhoto]
    /// Returns the identifiers of the photos in an album, or nil if it does not exist.
    func members(ofAlbum identifier: String) -> [String]?
    /// Starts to read the bytes of a photo.
    ///
    /// - Parameter allowsNetwork: true to download bytes that are not on the device.
    func read(
        _ kind: PhotoResource.Kind, of identifier: String, allowsNetwork: Bool, into channel: ChunkChannel
    ) -> @Sendable () -> Void
}

/// The access of the app to the photo library, with the numbers of `PHAuthorizationStatus`.
enum PhotoAccess: Int, Sendable {
    case notDetermined = 0
    case restricted = 1
    case denied = 2
    case authorized = 3
    /// The user has selected some photos.
    case limited = 4

    /// The reason why no photo can be read, and what to do. Nil if some can be.
    var refusal: String? {
        switch self {
        case .authorized, .limited: nil
        case .notDetermined:
            """
            The app has not asked for access to the photo library. Call \
            PHPhotoLibrary.requestAuthorization(for: .readWrite) before the backup.
            """
        case .restricted: "This device does not allow the app to read the photo library."
        case .denied: "The app may not read the photo library. Allow it in Settings, under Privacy & Security, Photos."
        }
    }
}

/// An error of Photos (`PHPhotosError`, with the numbers of Apple's `PHError.h`).
struct PhotoFailure: Error, Hashable {
    /// The domain of the errors of Photos.
    static let domain = "PHPhotosErrorDomain"

    let domain: String
    let code: Int

    init(_ code: Int, domain: String = Self.domain) {
        self.code = code
        self.domain = domain
    }

    static let networkAccessRequired = PhotoFailure(3_164)
    static let networkError = PhotoFailure(3_169)
    static let missingResource = PhotoFailure(3_303)

    /// The reason for people, with what to do.
    var message: String {
        switch self {
        case .networkAccessRequired:
            """
            it is only in iCloud. Let the source use the network (allowsNetwork), or download the original in the app \
            Photos, and back it up again
            """
        case .networkError: "iCloud cannot be reached. Back it up again when the device is online"
        case .missingResource: "it is no longer in the photo library"
        default: "Photos failed with the code \(code) of \(domain)"
        }
    }

    func error(of asset: AssetName) -> BackupError { BackupError(.unreadable, message: message, asset: asset) }
}
