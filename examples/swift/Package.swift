// swift-tools-version: 6.1
// The Swift example as a package beside the library. Run it with: swift run --package-path examples/swift
import PackageDescription

let package = Package(
    name: "kennel",
    dependencies: [.package(name: "motte", path: "../..")],
    targets: [
        .executableTarget(name: "Kennel", dependencies: [.product(name: "RealmSwift", package: "motte")]),
        .executableTarget(name: "AddressBook", dependencies: [.product(name: "RealmSwift", package: "motte")]),
    ],
    swiftLanguageModes: [.v6]
)
