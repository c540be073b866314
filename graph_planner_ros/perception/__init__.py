"""From images to observations: segmentation, back-projection, doors, transforms, and the pipeline of all of them."""
