import LFSS3
import TestSupport
import Testing

@Suite("Providers") struct S3ProviderTests {
    @Test(
        "A provider is detected by the end of the host name",
        arguments: [
            ("s3.eu-central-1.amazonaws.com", S3Provider.aws), ("S3.AmazonAWS.com.", .aws),
            ("bucket.s3.cn-north-1.amazonaws.com.cn", .aws), ("s3.dualstack.us-west-2.amazonaws.com", .aws),
            ("bucket.s3.us-west-2.api.aws", .aws), ("acct.r2.cloudflarestorage.com", .cloudflareR2),
            ("acct.eu.r2.cloudflarestorage.com", .cloudflareR2), ("s3.us-west-004.backblazeb2.com", .backblazeB2),
            ("s3.eu-central-1.wasabisys.com", .wasabi), ("storage.googleapis.com", .googleCloud),
            ("b.storage.googleapis.com", .googleCloud), ("fra1.digitaloceanspaces.com", .digitalOcean),
            ("fsn1.your-objectstorage.com", .hetzner), ("s3.fr-par.scw.cloud", .scaleway),
            ("ref.supabase.co", .supabase), ("gateway.storjshare.io", .storj),
            ("us-east.object.fastlystorage.app", .fastly),
        ])
    func detected(_ host: String, provider: S3Provider) { #expect(S3Provider.detect(endpoint: host) == provider) }

    @Test(
        "A host name that is only similar to a provider's is not detected",
        arguments: [
            "evilamazonaws.com", "amazonaws.com.evil.org", "amazonaws.org", "amazonaws.com.cn.example", "127.0.0.1",
            "[::1]",
            "localhost", "", ".", "com", "xr2.cloudflarestorage.com", "cloudflarestorage.com",
            "my-storage.googleapis.com",
        ])
    func other(_ host: String) { #expect(S3Provider.detect(endpoint: host) == .other) }

    @Test func haveNamesForTheCommandLine() {
        for provider in S3Provider.all { #expect(S3Provider.named(provider.name) == provider) }
        #expect(Set(S3Provider.all.map(\.name)).count == 17)
        #expect(S3Provider.named("CloudflareR2") == .cloudflareR2)
        #expect(S3Provider.named("amazon") == nil)
        #expect(S3Provider.named("") == nil)
    }

    @Test func thatAreTestedAreThoseOfTheTestServers() {
        #expect(
            S3Provider.all.filter { $0.evidence == .tested }.map(\.name) == ["seaweedfs", "openstack-swift", "juicefs"])
    }

    @Test func haveTheLimitsThatTheirVendorsName() {
        #expect(S3Provider.storj.minimumPartSize == 67_108_864)
        #expect(S3Provider.scaleway.maximumPartCount == 1_000)
        #expect(S3Provider.openStackSwift.maximumPartCount == 1_000)
        #expect(S3Provider.cloudflareR2.equalParts)
        #expect(S3Provider.all.allSatisfy { $0.minimumPartSize >= 5_242_880 && $0.maximumPartCount <= 10_000 })
    }

    @Test func thatAreUnknownAreTakenForTheLeastAble() {
        let other = S3Provider.other
        #expect(other.prefersPath && other.equalParts)
        #expect(other.checksumHeader == .contentMD5)
        #expect(!other.entityTagIsMD5 && !other.conditionalWrites && !other.keepsChecksums)
    }

    @Test("A custom provider has the given properties, and otherwise those of its base")
    func custom() {
        let provider = S3Provider.custom(
            "garage", like: .minio, checksSHA256: false, minimumPartSize: 8 << 20, maximumPartCount: 1_000)
        #expect(provider.name == "garage" && provider.evidence == .unknown)
        #expect(provider.checksumHeader == .contentMD5)
        #expect(provider.minimumPartSize == 8_388_608 && provider.maximumPartCount == 1_000)
        #expect(provider.conditionalWrites && provider.keepsChecksums && !provider.equalParts)
        #expect(S3Provider.custom("plain") != .other, "its name differs")
    }
}
