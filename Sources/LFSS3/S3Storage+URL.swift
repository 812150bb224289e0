public import Foundation
import LFSHTTP
public import LFSStorage

extension S3Storage {
    /// The bucket of a URL, with what the environment and the files of the AWS tools say where the URL says nothing.
    ///
    /// - Parameters:
    ///   - url: where the bucket is.
    ///   - options: what the URL and the environment say of provider, storage class and authorities goes before them.
    ///   - environment: the variables; those of the process unless others are given.
    /// - Throws: `StorageError.Code.invalidRequest` for what cannot be, such as a profile that is missing.
    public convenience init(
        _ url: S3URL, options: S3Options = S3Options(),
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(StorageError) {
        let environment = AWSEnvironment(variables: environment)
        let found = try S3Environment.resolve(profile: url.profile, in: environment)
        var options = options
        if let provider = url.provider { options.provider = provider }
        if let storageClass = url.storageClass { options.storageClass = storageClass }
        if let bundle = found.caBundle { options.certificateAuthorities = bundle }
        // Whoever writes http out has decided so; from the environment it is taken for this machine only.
        if url.endpoint.map({ $0.scheme == "http" }) ?? found.isOnThisMachine { options.allowsPlainHTTP = true }
        try self.init(
            bucket: url.bucket, prefix: url.prefix, region: url.region ?? found.region,
            endpoint: url.endpoint ?? found.endpoint, addressing: url.addressing,
            credentials: url.profile.map { .profile($0, in: environment) } ?? .automatic(environment), options: options)
    }
}

extension S3Environment {
    fileprivate var isOnThisMachine: Bool {
        guard let endpoint, let origin = try? HTTPOrigin(endpoint) else { return false }
        return origin.isOnThisMachine
    }
}
