import Foundation
import LFSSystem
import Synchronization

@testable import LFSBackup
@testable import LFSPhotos

/// A photo library in memory that behaves as Apple documents, and counts its calls.
///
/// - A fetch sees the library of the moment. With limited access it sees the selected photos, and no albums.
/// - Chunks come from another thread, one at a time. A read that is cancelled calls back no more.
///
/// One mutex owns the state. It is never held while a chunk is passed on.
final class SimulatedPhotoLibrary: PhotoLibrary {
    private struct Content {
        var bytes: [UInt8]
        var isInCloud = false
    }

    private struct Place: Hashable {
        let identifier: String
        let kind: PhotoResource.Kind
    }

    private struct State {
        var access = PhotoAccess.authorized
        var selected: Set<String> = []
        var order: [String] = []
        var photos: [String: LibraryPhoto] = [:]
        var contents: [Place: Content] = [:]
        var albums: [String: [String]] = [:]
        var failure: PhotoFailure?
        var beforeRead: (@Sendable (String) -> Void)?
        var beforeChunk: (@Sendable (Int) -> Void)?
        var lookups: [Int] = []
        var reads = 0
        var givenChunks = 0
        var cancellations = 0

        func isVisible(_ identifier: String) -> Bool {
            photos[identifier] != nil && (access != .limited || selected.contains(identifier))
        }
    }

    static let chunkSize = 1_000
    /// The time of the first change of every photo.
    static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private let state = Mutex(State())

    /// The sizes of the lookups so far.
    var lookups: [Int] { state.withLock(\.lookups) }
    var reads: Int { state.withLock(\.reads) }
    /// The number of chunks that were taken.
    var givenChunks: Int { state.withLock(\.givenChunks) }
    var cancellations: Int { state.withLock(\.cancellations) }

    // MARK: The user

    func add(
        _ identifier: String, name: String = "IMG_0001.HEIC", type: String = "public.heic", bytes: [UInt8],
        video: [UInt8]? = nil, isInCloud: Bool = false, modifiedAt: Date? = start
    ) {
        let attributes = PhotoAttributes(
            identifier: identifier, kind: .image, createdAt: Self.start, modifiedAt: modifiedAt, duration: 0,
            pixelWidth: 4_032, pixelHeight: 3_024, isFavorite: false)
        let photo = PhotoResource(kind: .photo, name: name, typeIdentifier: type)
        let paired = PhotoResource(
            kind: .pairedVideo, name: "IMG_0001.MOV", typeIdentifier: "com.apple.quicktime-movie")
        state.withLock { state in
            state.order.append(identifier)
            state.photos[identifier] = LibraryPhoto(
                attributes: attributes, resources: video == nil ? [photo] : [photo, paired])
            state.contents[Place(identifier: identifier, kind: .photo)] = Content(bytes: bytes, isInCloud: isInCloud)
            state.contents[Place(identifier: identifier, kind: .pairedVideo)] = video.map { Content(bytes: $0) }
        }
    }

    /// Edits a photo. Photos keeps the bytes of the camera, and stores the result under a name of its own.
    func edit(_ identifier: String, bytes: [UInt8]) {
        touch(identifier)
        let edited = PhotoResource(kind: .fullSizePhoto, name: "FullSizeRender.jpg", typeIdentifier: "public.jpeg")
        state.withLock { state in
            state.photos[identifier]?.resources.append(edited)
            state.contents[Place(identifier: identifier, kind: .fullSizePhoto)] = Content(bytes: bytes)
        }
    }

    /// Marks a photo as a favorite, which changes its modification date.
    func touch(_ identifier: String) {
        state.withLock { state in
            guard let photo = state.photos[identifier] else { return }
            let old = photo.attributes
            state.photos[identifier]?.attributes = PhotoAttributes(
                identifier: identifier, kind: old.kind, createdAt: old.createdAt,
                modifiedAt: old.modifiedAt?.addingTimeInterval(1), duration: old.duration, pixelWidth: old.pixelWidth,
                pixelHeight: old.pixelHeight, isFavorite: true)
        }
    }

    func removeResources(of identifier: String) { state.withLock { $0.photos[identifier]?.resources = [] } }

    func delete(_ identifier: String) {
        state.withLock { state in
            state.order.removeAll { $0 == identifier }
            state.photos[identifier] = nil
        }
    }

    func setAlbum(_ identifier: String, members: [String]) { state.withLock { $0.albums[identifier] = members } }

    func allow(_ access: PhotoAccess, selected: Set<String> = []) {
        state.withLock { state in
            state.access = access
            state.selected = selected
        }
    }

    /// Ends each read with an error after its first chunk.
    func fail(_ failure: PhotoFailure?) { state.withLock { $0.failure = failure } }
    /// Runs a body before each read.
    func beforeRead(_ body: (@Sendable (String) -> Void)?) { state.withLock { $0.beforeRead = body } }
    /// Runs a body before each chunk, with its index.
    func beforeChunk(_ body: (@Sendable (Int) -> Void)?) { state.withLock { $0.beforeChunk = body } }

    // MARK: Calls of the source

    var access: PhotoAccess { state.withLock(\.access) }

    func identifiers() -> [String] {
        state.withLock { state in state.order.filter { state.isVisible($0) } }
    }

    func photos(_ identifiers: [String]) -> [LibraryPhoto] {
        state.withLock { state in
            state.lookups.append(identifiers.count)
            // The order of a fetch by identifiers is not defined.
            return identifiers.reversed().filter { state.isVisible($0) }.compactMap { state.photos[$0] }
        }
    }

    func members(ofAlbum identifier: String) -> [String]? {
        state.withLock { $0.access == .limited ? nil : $0.albums[identifier] }
    }

    func read(
        _ kind: PhotoResource.Kind, of identifier: String, allowsNetwork: Bool, into channel: ChunkChannel
    ) -> @Sendable () -> Void {
        state.withLock(\.beforeRead)?(identifier)
        let (content, failure) = state.withLock { state in
            state.reads += 1
            let place = Place(identifier: identifier, kind: kind)
            return (state.isVisible(identifier) ? state.contents[place] : nil, state.failure)
        }
        let flag = CancellationFlag()
        BlockingPool.foreign.start {
            guard let content else { return channel.finish(PhotoFailure.missingResource) }
            if content.isInCloud, !allowsNetwork { return channel.finish(PhotoFailure.networkAccessRequired) }
            for (index, chunk) in content.bytes.chunks(of: Self.chunkSize).enumerated() {
                self.state.withLock(\.beforeChunk)?(index)
                if flag.isCancelled { return }
                channel.put(Array(chunk))
                self.state.withLock { $0.givenChunks += 1 }
                if let failure { return channel.finish(failure) }
            }
            channel.finish()
        }
        return {
            flag.cancel()
            self.state.withLock { $0.cancellations += 1 }
        }
    }
}
