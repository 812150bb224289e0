// The part of Apple's framework Security that this package uses, with Core Foundation's types as Swift's. Only for
// typechecking with Tests/House/apple. Written from Apple's documentation.
public import Foundation

public typealias CFArray = [AnyObject]
public typealias CFData = Data
public typealias CFString = String
public typealias CFTypeRef = AnyObject
public typealias CFDictionary = [String: Any]
public typealias CFError = AnyObject
public typealias OSStatus = Int32

public let errSecSuccess: OSStatus = 0
public let errSecMissingEntitlement: OSStatus = -34_018
public let errSecDuplicateItem: OSStatus = -25_299
public let errSecItemNotFound: OSStatus = -25_300
public let errSecInteractionNotAllowed: OSStatus = -25_308

// MARK: Certificates

public class SecCertificate {}
public class SecTrust {}

public func SecCertificateCreateWithData(_ allocator: AnyObject?, _ data: CFData) -> SecCertificate? { nil }
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchors: CFArray?) -> OSStatus { 0 }
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ only: Bool) -> OSStatus { 0 }
@available(macOS 10.14, iOS 12, *)
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { false }

// MARK: Keychain items

public let kSecClass: CFString = "class"
public let kSecClassGenericPassword: CFString = "genp"
public let kSecAttrService: CFString = "svce"
public let kSecAttrAccount: CFString = "acct"
public let kSecAttrLabel: CFString = "labl"
public let kSecAttrAccessGroup: CFString = "agrp"
public let kSecAttrSynchronizable: CFString = "sync"
public let kSecAttrAccessible: CFString = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
public let kSecValueData: CFString = "v_Data"
public let kSecReturnData: CFString = "r_Data"
public let kSecReturnAttributes: CFString = "r_Attributes"
public let kSecMatchLimit: CFString = "m_Limit"
public let kSecMatchLimitOne: CFString = "m_LimitOne"
public let kSecMatchLimitAll: CFString = "m_LimitAll"
@available(macOS 10.15, iOS 13, *)
public let kSecUseDataProtectionKeychain: CFString = "nleg"

public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemUpdate(_ query: CFDictionary, _ attributes: CFDictionary) -> OSStatus { 0 }
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { 0 }
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? { nil }
