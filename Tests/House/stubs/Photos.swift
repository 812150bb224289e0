// The part of Apple's framework Photos that this package uses. Only for typechecking with Tests/House/apple. Written
// from Apple's documentation.
public import Foundation

@available(macOS 10.13, iOS 8.0, *)
public enum PHAuthorizationStatus: Int, Sendable {
    case notDetermined, restricted, denied, authorized
    @available(macOS 11.0, iOS 14.0, *)
    case limited
}

@available(macOS 11.0, iOS 14.0, *)
public enum PHAccessLevel: Int, Sendable { case addOnly = 1, readWrite }

@available(macOS 10.13, iOS 8.0, *)
open class PHPhotoLibrary: NSObject {
    @available(macOS 11.0, iOS 14.0, *)
    open class func authorizationStatus(for accessLevel: PHAccessLevel) -> PHAuthorizationStatus { .notDetermined }
    @available(macOS 11.0, iOS 14.0, *)
    open class func requestAuthorization(for accessLevel: PHAccessLevel) async -> PHAuthorizationStatus {
        .notDetermined
    }
}

@available(macOS 10.13, iOS 8.0, *)
open class PHFetchOptions: NSObject {}

@available(macOS 10.13, iOS 8.0, *)
open class PHFetchResult<ObjectType: AnyObject>: NSObject {
    open var count: Int { 0 }
    open func object(at index: Int) -> ObjectType { fatalError("The stub has no objects.") }
    open var firstObject: ObjectType? { nil }
}

@available(macOS 10.13, iOS 8.0, *)
open class PHObject: NSObject {
    open var localIdentifier: String { "" }
}

@available(macOS 10.13, iOS 8.0, *)
open class PHCollection: PHObject {}

@available(macOS 10.13, iOS 8.0, *)
open class PHAssetCollection: PHCollection {
    open class func fetchAssetCollections(
        withLocalIdentifiers identifiers: [String], options: PHFetchOptions?
    ) -> PHFetchResult<PHAssetCollection> { PHFetchResult() }
}

@available(macOS 10.13, iOS 8.0, *)
public enum PHAssetMediaType: Int, Sendable { case unknown, image, video, audio }

@available(macOS 10.13, iOS 8.0, *)
open class PHAsset: PHObject {
    open var mediaType: PHAssetMediaType { .unknown }
    open var pixelWidth: Int { 0 }
    open var pixelHeight: Int { 0 }
    open var creationDate: Date? { nil }
    open var modificationDate: Date? { nil }
    open var duration: TimeInterval { 0 }
    open var isFavorite: Bool { false }

    @available(macOS 10.15, iOS 8.0, *)
    open class func fetchAssets(with options: PHFetchOptions?) -> PHFetchResult<PHAsset> { PHFetchResult() }
    open class func fetchAssets(
        withLocalIdentifiers identifiers: [String], options: PHFetchOptions?
    ) -> PHFetchResult<PHAsset> { PHFetchResult() }
    open class func fetchAssets(
        in assetCollection: PHAssetCollection, options: PHFetchOptions?
    ) -> PHFetchResult<PHAsset> { PHFetchResult() }
}

@available(macOS 10.15, iOS 9.0, *)
public enum PHAssetResourceType: Int, Sendable {
    case photo = 1, video, audio, alternatePhoto, fullSizePhoto, fullSizeVideo, adjustmentData, adjustmentBasePhoto
    case pairedVideo, fullSizePairedVideo, adjustmentBasePairedVideo, adjustmentBaseVideo
    @available(macOS 14.0, iOS 17.0, *)
    case photoProxy = 19
}

@available(macOS 10.15, iOS 9.0, *)
open class PHAssetResource: NSObject {
    open var type: PHAssetResourceType { .photo }
    open var originalFilename: String { "" }
    open var uniformTypeIdentifier: String { "" }
    open class func assetResources(for asset: PHAsset) -> [PHAssetResource] { [] }
}

@available(macOS 10.15, iOS 9.0, *)
public typealias PHAssetResourceDataRequestID = Int32

@available(macOS 10.15, iOS 9.0, *)
open class PHAssetResourceRequestOptions: NSObject {
    open var isNetworkAccessAllowed = false
}

@available(macOS 10.15, iOS 9.0, *)
open class PHAssetResourceManager: NSObject {
    open class func `default`() -> PHAssetResourceManager { PHAssetResourceManager() }
    open func requestData(
        for resource: PHAssetResource, options: PHAssetResourceRequestOptions?,
        dataReceivedHandler handler: @escaping (Data) -> Void,
        completionHandler: @escaping ((any Error)?) -> Void
    ) -> PHAssetResourceDataRequestID { 0 }
    open func cancelDataRequest(_ requestID: PHAssetResourceDataRequestID) {}
}
